# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by scripts that build. If ccache is installed, CMake compiles through it. ccache also finds objects of other
# checkouts, because it treats paths below the checkout as relative. It uses the user's own cache (CCACHE_DIR, or below
# ~/.cache). CCACHE_DISABLE=1 switches it off.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    # Without these settings, ccache recompiles every file that uses precompiled headers.
    export CCACHE_SLOPPINESS=pch_defines,time_macros
fi
