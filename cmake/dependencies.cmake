# SPDX-License-Identifier: GPL-2.0-or-later
# Everything comes from Debian 12 by name; tools/setup.sh installs it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(EXT2FS REQUIRED IMPORTED_TARGET ext2fs)
pkg_check_modules(COM_ERR REQUIRED IMPORTED_TARGET com_err)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(TRACEEVENT REQUIRED IMPORTED_TARGET libtraceevent>=1.7)
pkg_check_modules(TRACEFS REQUIRED IMPORTED_TARGET libtracefs)
