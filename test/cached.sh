# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by scripts that build: lets CMake compile through ccache where it is installed. What it has
# compiled it finds again in another checkout, since paths below that checkout count as relative.
# The cache is the user's own (CCACHE_DIR, or below ~/.cache); CCACHE_DISABLE=1 does without.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    # Without these it compiles again whatever begins with precompiled headers.
    export CCACHE_SLOPPINESS=pch_defines,time_macros
fi
