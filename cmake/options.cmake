# SPDX-License-Identifier: GPL-2.0-or-later
# One interface target holds the flags of all our targets.
add_library(e4r_options INTERFACE)
target_compile_options(e4r_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wcast-qual -Wformat=2 -Wimplicit-fallthrough
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor$<SEMICOLON>-Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:CXX>:-Wzero-as-null-pointer-constant>)
# When it optimises, GCC 12 wrongly warns of overlapping copies in "literal" + std::string() (GCC's
# bug 105651, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(e4r_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  target_link_options(e4r_options INTERFACE -Wno-restrict) # with -flto, the linker compiles code, too
endif()
# By default, GCC collects garbage each time its heap has grown by a third, which takes a fifth of
# the compile time. With this setting, cc1plus needs 950 MB instead of 800 MB for a file of a unity
# build.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(e4r_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
# The layers are compiled only once, for both the programs and the shared library (src/library).
# Tools and tests use the same flags, so that all targets can share precompiled headers. With hidden
# symbols, these flags do not slow a replay down (docs/design-tools.md).
target_compile_options(e4r_options INTERFACE -fPIC -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
# These directories contain our headers and the generated ones.
target_include_directories(e4r_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
if(E4R_WERROR)
  target_compile_options(e4r_options INTERFACE -Werror)
endif()
if(E4R_SANITIZE)
  target_compile_options(e4r_options INTERFACE
    -fsanitize=${E4R_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(e4r_options INTERFACE -fsanitize=${E4R_SANITIZE})
endif()
if(E4R_FUZZ)
  target_compile_options(e4r_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(E4R_CHECKED_CONTAINERS)
  target_compile_definitions(e4r_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# e4r_compile_fast(TARGET): compiles TARGET with less optimisation. Use it for code that does not
# run for each decision. It saves an eighth of the build time of e4replay.
function(e4r_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# e4r_add_library(NAME [COLD] SOURCES... [DEPENDS targets...] [PRIVATE_DEPENDS targets...]): adds a
# library for one layer of src/. COLD compiles it with e4r_compile_fast().
function(e4r_add_library name)
  cmake_parse_arguments(ARG "COLD" "" "DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE e4r_options ${ARG_PRIVATE_DEPENDS})
  if(ARG_COLD)
    e4r_compile_fast(${name})
  endif()
  e4r_unite(${name})
  e4r_use_precompiled(${name} e4r_precompiled)
endfunction()
