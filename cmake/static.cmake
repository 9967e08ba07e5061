# SPDX-License-Identifier: GPL-2.0-or-later
# With -DE4R_STATIC=ON, programs are linked statically, so they run on machines without our
# dependencies (tools/portable.sh). Such a program cannot open policies from files, because it has
# no dynamic linker.
option(E4R_STATIC "link the programs without shared libraries" OFF)
if(E4R_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Boost_USE_STATIC_LIBS ON)
  # Without -static-pie, the program would be loaded at the same address in each run.
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -static-pie")
  set_property(GLOBAL APPEND PROPERTY E4R_LEFT_OUT "policies from files")
endif()
