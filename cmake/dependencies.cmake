# SPDX-License-Identifier: GPL-2.0-or-later
# All dependencies are packages of Debian 12. tools/setup.sh installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
set(E4R_FMT fmt::fmt)
if(E4R_STATIC) # Debian has no static library of fmt
  set(E4R_FMT fmt::fmt-header-only)
endif()
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(EXT2FS REQUIRED IMPORTED_TARGET ext2fs)
pkg_check_modules(COM_ERR REQUIRED IMPORTED_TARGET com_err)
pkg_check_modules(BLKID REQUIRED IMPORTED_TARGET blkid)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

find_package(Protobuf QUIET)
e4r_optional(PERFETTO "`replay --perfetto`" "libprotobuf-dev, protobuf-compiler" Protobuf_FOUND)
pkg_check_modules(NLOPT QUIET IMPORTED_TARGET nlopt)
e4r_optional(HUNT "`e4replay hunt`" "libnlopt-dev" NLOPT_FOUND)
pkg_check_modules(NCURSESW QUIET ncursesw)  # an imported target would add flags, and precompiled headers
                                            # cannot be used with different flags
e4r_optional(PAGE "the full-screen page of `e4replay watch`" "libncurses-dev" NCURSESW_FOUND)
pkg_check_modules(TRACEEVENT QUIET IMPORTED_TARGET libtraceevent>=1.7)
pkg_check_modules(TRACEFS QUIET IMPORTED_TARGET libtracefs)
e4r_optional(RECORD "`e4replay record`, and reading trace.dat" "libtracefs-dev, libtraceevent-dev"
  TRACEEVENT_FOUND AND TRACEFS_FOUND)
