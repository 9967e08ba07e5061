#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `cmake --install` puts into a prefix is enough to build against: each header compiles alone, the
# examples are built through pkg-config and through find_package, and they say what the tool says. The
# names that the library exports are those of a file.
#   installed_test.sh PART SOURCE-DIRECTORY PREFIX LIBDIR COMPILER [FLAGS...]
#   PART: headers, pkg-config, cmake, symbols or plugin
set -euo pipefail
part=$1 source=$2 prefix=$3 libdir=$4 compiler=$5
flags=("${@:6}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig LD_LIBRARY_PATH=$prefix/$libdir

fail() {
    echo "installed_test: $*" >&2
    exit 1
}

# An image whose numbers are known, and what the examples make of it.
examples_say_what_the_tool_says() {
    local image=$work/image
    truncate -s 256M "$image"
    mke2fs -q -F -t ext4 -b 4096 "$image"
    "$1/freefrag" "$image" >"$work/example"
    "$prefix/bin/e4replay" freefrag "$image" >"$work/tool"
    diff "$work/tool" "$work/example"
    "$1/decide" "$image" >"$work/decided"
    grep -qE '^legacy: 256 clusters from block [0-9]+ on, by CR' "$work/decided" ||
        fail "decide says: $(<"$work/decided")"
    local free
    free=$(sed -n 's/^Free blocks: \([0-9]*\).*/\1/p' "$work/tool")
    [ "$(grep -c ": $free blocks are free at the end" "$work/decided")" = 2 ] ||
        fail "what was freed is not free: $(<"$work/decided")"
    if "$1/freefrag" "$work/none" 2>"$work/error"; then fail "freefrag took a file that is not there"; fi
    grep -q 'No such file' "$work/error"
}

case $part in
headers)
    # shellcheck disable=SC2016 # the inner shell's
    find "$prefix/include/e4replay" -name '*.h' -printf '%f\n' | xargs -P 2 -I NAME bash -c '
        printf "#include <e4replay/%s>\n" "$1" "$1" >"$2/$1.cc" &&
            "${@:3}" "$2/$1.cc" || exit 255' - NAME "$work" "$compiler" "${flags[@]}" -std=c++20 -Wall \
        -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I "$prefix/include" ||
        fail "a header does not compile alone"
    ! grep -nE 'include <(boost|fmt|ext2fs|et)/|include "' "$prefix"/include/e4replay/*.h ||
        fail "an installed header includes what is not installed with it"
    ;;
pkg-config)
    mkdir "$work/bin"
    for example in freefrag decide; do
        # shellcheck disable=SC2046 # one word is one flag
        "$compiler" "${flags[@]}" -std=c++20 -Wall -Wextra -Werror "$source/examples/$example.cc" \
            $(pkg-config --cflags --libs e4replay) -o "$work/bin/$example"
    done
    examples_say_what_the_tool_says "$work/bin"
    ;;
cmake)
    cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(examples LANGUAGES CXX)
find_package(e4replay REQUIRED)
foreach(example freefrag decide)
  add_executable(\${example} $source/examples/\${example}.cc)
  target_link_libraries(\${example} PRIVATE e4replay::e4replay)
endforeach()
END
    cmake -S "$work" -B "$work/bin" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_CXX_FLAGS="${flags[*]}" >/dev/null
    cmake --build "$work/bin" >/dev/null
    examples_say_what_the_tool_says "$work/bin"
    ;;
symbols)
    library=$prefix/$libdir/libe4replay.so.0
    [ "$(objdump -p "$library" | sed -n 's/^ *SONAME *//p')" = libe4replay.so.0 ] || fail "it has another soname"
    nm -DC --defined-only "$library" | sed -nE 's/^[0-9a-f]+ [A-Z] //p' | grep -v '^E4REPLAY_' |
        LC_ALL=C sort -u >"$work/symbols"
    diff "$source/test/library/symbols" "$work/symbols" >"$work/changes" || {
        cat "$work/changes" >&2
        cat >&2 <<END
installed_test: libe4replay exports other symbols than test/library/symbols lists.
A line that begins with '>' is new: give it a version node of its own in src/library/libe4replay.map,
unless its node has not been released, and add the line to test/library/symbols.
A line that begins with '<' is gone, or has other arguments: programs that were built against the library
would not start. Keep the symbol, or raise SOVERSION (docs/library.md, "What stays") and remove the line.
END
        exit 1
    }
    ;;
plugin)
    e4replay=$prefix/bin/e4replay
    captures=$(realpath "$E4R_CAPTURES")
    replay=(replay "$captures/churn-4k.img" "$captures/churn-4k.trace.zst" --check --no-progress)
    # shellcheck disable=SC2046 # one word is one flag
    make() { "$compiler" "${flags[@]}" -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC "$@" \
        $(pkg-config --cflags e4replay); }
    cd "$work"
    make "$source/examples/roomy.cc" -o roomy.so
    [ -z "$(nm -DC --undefined-only roomy.so | grep e4r)" ] || fail "roomy.so needs a symbol of ours"
    # By its file and by its name: a column.
    "$e4replay" "${replay[@]}" -p legacy,./roomy.so >by-file
    grep -qE '^ +start .* legacy +roomy ' by-file || fail "there is no column: $(<by-file)"
    E4REPLAY_POLICY_PATH=/nowhere:$work "$e4replay" "${replay[@]}" -p legacy,roomy >by-name
    diff <(grep -v '^time\|per second' by-file) <(grep -v '^time\|per second' by-name)
    "$e4replay" policies ./roomy.so >described
    grep -q 'largest free chunk, down to a quarter' described || fail "it is not described: $(<described)"
    E4REPLAY_POLICY_PATH=$work "$e4replay" policies | grep -q '^roomy  *legacy with a rung' ||
        fail "e4replay policies does not list roomy"
    # refused WORDS FILE: in one line.
    refused() {
        local status=0
        "$e4replay" "${replay[@]}" -p "$2" >out 2>err || status=$?
        [ $status = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -qF "$1" err || fail "-p $2 ended with $status: $(<err)"
    }
    sed 's/kInterface = 1/kInterface = 999/' "$prefix/include/e4replay/plugin.h" >plugin.h
    sed 's,<e4replay/plugin.h>,"plugin.h",' "$source/examples/roomy.cc" >later.cc
    make later.cc -o later.so
    refused "was made for plug-in interface 999, and this is 1: compile it again" ./later.so
    echo 'int nothing;' >nothing.cc
    make nothing.cc -o nothing.so
    refused "is a library, but no policy" ./nothing.so
    refused "is no policy that can be loaded" "$source/examples/roomy.cc"
    refused "No such file" ./none.so
    sed 's/"roomy"/"legacy"/' "$source/examples/roomy.cc" >taken.cc
    make taken.cc -o taken.so
    refused "there is a policy legacy already" ./taken.so
    sed 's/largest_first(), cr2(), cr3()}/cr2(), cr3(), largest_first()}/' "$source/examples/roomy.cc" >bad.cc
    make bad.cc -o bad.so
    refused "the last rung must walk" ./bad.so
    ;;
*) fail "no part '$part'" ;;
esac
