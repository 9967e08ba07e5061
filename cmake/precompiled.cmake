# SPDX-License-Identifier: GPL-2.0-or-later
# Library headers that nearly every file includes are compiled once for all targets, because parsing
# them repeatedly takes most of the build time. Each file must still include what it needs. The
# preset dev builds without precompiled headers, so a missing #include is an error there.
option(E4R_PRECOMPILED "compile the common headers of libraries once, for all targets" OFF)

set(e4r_common_headers
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <deque> <filesystem> <fstream> <functional>
  <iterator> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
  <thread> <tuple> <unordered_map> <utility> <vector> <fmt/format.h>)

# e4r_add_precompiled(NAME HEADERS headers... [DEPENDS libraries...] [OPTIONS compiler options...]): adds the
# target that compiles HEADERS. Its users must be compiled with the same options.
function(e4r_add_precompiled name)
  if(NOT E4R_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPENDS;OPTIONS" ${ARGN})
  set(empty ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(${name} OBJECT ${empty})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} e4r_options)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# e4r_use_precompiled(TARGET NAME): makes the C++ files of TARGET begin with the precompiled headers
# of NAME.
function(e4r_use_precompiled target name)
  if(NOT TARGET ${name})
    return()
  endif()
  # Boost's targets add preprocessor definitions, and the precompiled headers must have the same
  # definitions as the files that use them. So files that use Boost.JSON have their own precompiled
  # headers.
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(TARGET ${name}_json AND "Boost::json" IN_LIST libraries)
    set(name ${name}_json)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  # Without this, CMake would also compile the headers for C files.
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

e4r_add_precompiled(e4r_precompiled HEADERS ${e4r_common_headers} DEPENDS ${E4R_FMT})
e4r_add_precompiled(e4r_precompiled_json
  HEADERS ${e4r_common_headers} <boost/json.hpp> DEPENDS ${E4R_FMT} Boost::json)
