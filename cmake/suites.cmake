# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DPROGRAM=FILE -DOUTPUT=FILE -DCASES=DIR -DTIMEOUT=SECONDS [-DSPLIT=SUITE,...] -P suites.cmake:
# writes, for ctest, one test for each test suite of the GoogleTest program PROGRAM, since a process for
# each case would cost more than most cases do. Cases of a suite in SPLIT take long: they are tests of
# their own (label "case"), and no shard of a run leaves them out. Which cases a test ran is in
# CASES/TEST.xml (a slash in TEST is written "__"); test/ran.sh counts these. Called after the program has
# been linked.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${status}:\n${listed}")
endif()
string(REPLACE "," ";" SPLIT "${SPLIT}")

set(text)
# add(TEST FILTER [PROPERTIES...])
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

# A suite is a line that begins in the first column and ends in a dot; its cases are indented. Behind
# either there may be a remark.
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
