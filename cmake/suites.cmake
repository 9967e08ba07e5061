# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DPROGRAM=FILE -DOUTPUT=FILE -DCASES=DIR -DTIMEOUT=SECONDS [-DSPLIT=SUITE,...] -P
# suites.cmake: writes a ctest test for each test suite of the GoogleTest program PROGRAM. A test
# for each case would be slower, because starting a process takes longer than most cases. The cases
# of suites in SPLIT take long, so each of them is a separate test (label "case"), and every shard
# of a run includes them. CASES/TEST.xml lists the cases that a test has run (a slash in TEST
# becomes "__"); test/ran.sh counts them. The build runs this script after it has linked the
# program.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${status}:\n${listed}")
endif()
string(REPLACE "," ";" SPLIT "${SPLIT}")

set(text)
# add(TEST FILTER [PROPERTIES...]): writes a test that runs the cases that match FILTER.
function(add test filter)
  string(REPLACE "/" "__" file "${test}")
  string(APPEND text "add_test([==[${test}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==]"
    " [==[--gtest_output=xml:${CASES}/${file}.xml]==])\n"
    "set_tests_properties([==[${test}]==] PROPERTIES TIMEOUT ${TIMEOUT} LABELS suite)\n")
  if(ARGN)
    string(APPEND text "set_tests_properties([==[${test}]==] PROPERTIES ${ARGN})\n")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

# A suite is a line that begins in the first column and ends with a dot; its cases are indented. A
# comment may follow either.
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE " +#.*$" "" line "${line}")
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    list(FIND SPLIT "${suite}" split)
    if(split EQUAL -1)
      add(${suite} "${suite}.*")
    endif()
  elseif(line MATCHES "^  ([^ ]+)$" AND NOT split EQUAL -1)
    add("${suite}.${CMAKE_MATCH_1}" "${suite}.${CMAKE_MATCH_1}"
      "LABELS \"suite;case\" ENVIRONMENT_MODIFICATION \"GTEST_TOTAL_SHARDS=unset:;GTEST_SHARD_INDEX=unset:\"")
  endif()
endforeach()
if(NOT text)
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${OUTPUT} "${text}")
