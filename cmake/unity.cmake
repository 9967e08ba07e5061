# SPDX-License-Identifier: GPL-2.0-or-later
# A unity build compiles several files of a target together. It takes less than half of the time of
# a normal build, which spends most of its time on headers. Before version 3.29, CMake's own unity
# build (CMAKE_UNITY_BUILD) includes files by absolute path, so a compiler cache cannot share
# objects between checkouts.
option(E4R_UNITY "compile the files of a target together" ON)
set(E4R_UNITY_FILES 12 CACHE STRING "how many files are compiled as one")

# e4r_unite(TARGET [ALWAYS]): combines the .cc files of TARGET in the current directory, E4R_UNITY_FILES at a
# time. Their anonymous namespaces become one, so names in them must differ. A file with the source property
# SKIP_UNITY_BUILD_INCLUSION stays separate.
function(e4r_unite target)
  if(NOT E4R_UNITY AND NOT "${ARGN}" STREQUAL ALWAYS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(files)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${path} ours)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} made)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(path MATCHES "\\.cc$" AND ours AND NOT made AND NOT alone)
      list(APPEND files ${path})
    endif()
  endforeach()
  list(LENGTH files count)
  if(count LESS 2)
    return()
  endif()
  set_source_files_properties(${files} PROPERTIES HEADER_FILE_ONLY ON)
  math(EXPR last "(${count} - 1) / ${E4R_UNITY_FILES}")
  foreach(batch RANGE ${last})
    math(EXPR first "${batch} * ${E4R_UNITY_FILES}")
    list(SUBLIST files ${first} ${E4R_UNITY_FILES} some)
    set(text)
    foreach(file ${some})
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    set(united ${CMAKE_CURRENT_BINARY_DIR}/${target}_${batch}.cc)
    file(CONFIGURE OUTPUT ${united} CONTENT "${text}" @ONLY)
    set_source_files_properties(${united} PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR})
    target_sources(${target} PRIVATE ${united})
  endforeach()
endfunction()
