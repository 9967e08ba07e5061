# SPDX-License-Identifier: GPL-2.0-or-later
# The target e4r_version contains the text that --version prints. If the commit changes, only one
# small file is recompiled.
set(E4R_COMMIT "auto" CACHE STRING "commit for --version; auto: git's, if this is a checkout")
set(commit_args -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${PROJECT_BINARY_DIR}/commit/commit.h)
if(NOT E4R_COMMIT STREQUAL "auto")
  list(APPEND commit_args -DCOMMIT=${E4R_COMMIT})
endif()
add_custom_target(e4r_commit
  COMMAND ${CMAKE_COMMAND} ${commit_args} -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/commit/commit.h
  VERBATIM)
# Below the version, `e4replay --version` prints which parts were left out. tools/portable.sh reads
# this text.
get_property(left_out GLOBAL PROPERTY E4R_LEFT_OUT)
list(REMOVE_ITEM left_out "the Python package")
list(JOIN left_out "; " left_out)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/commit/left_out.h CONTENT "#define E4R_LEFT_OUT \"@left_out@\"\n" @ONLY)
add_library(e4r_version STATIC common/version.cc)
add_dependencies(e4r_version e4r_commit)
target_include_directories(e4r_version PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/commit)
target_compile_definitions(e4r_version PRIVATE E4R_VERSION="${PROJECT_VERSION}")
target_link_libraries(e4r_version PRIVATE e4r_options)
