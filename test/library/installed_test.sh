#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that the files that `cmake --install` puts into a prefix are sufficient to build programs. Each header must
# compile alone, the examples must build with pkg-config and with find_package, and they must print the same as the
# tool. The exported names must match a file.
#   installed_test.sh PART SOURCE-DIRECTORY PREFIX LIBDIR COMPILER [FLAGS...]
#   PART: headers, pkg-config, cmake, symbols, plugin, guide or corpus
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

# Compares the output of the examples for an image with known numbers.
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
    # shellcheck disable=SC2016 # the inner shell expands it
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
    # The policy gets a column, whether -p gives its file or its name.
    "$e4replay" "${replay[@]}" -p legacy,./roomy.so >by-file
    grep -qE '^ +start .* legacy +roomy ' by-file || fail "there is no column: $(<by-file)"
    E4REPLAY_POLICY_PATH=/nowhere:$work "$e4replay" "${replay[@]}" -p legacy,roomy >by-name
    diff <(grep -v '^time\|per second' by-file) <(grep -v '^time\|per second' by-name)
    "$e4replay" policies ./roomy.so >described
    grep -q 'largest free chunk, down to a quarter' described || fail "it is not described: $(<described)"
    E4REPLAY_POLICY_PATH=$work "$e4replay" policies | grep -q '^roomy  *legacy with a rung' ||
        fail "e4replay policies does not list roomy"
    # variant NAME EXPRESSION: makes ./NAME.so from the example, changed by this sed expression.
    variant() {
        sed "$2" "$source/examples/roomy.cc" >"$1.cc"
        ! cmp -s "$1.cc" "$source/examples/roomy.cc" || fail "$1: the expression changes nothing in roomy.cc"
        make "$1.cc" -o "$1.so"
    }
    # refused WORDS FILE: checks that the policy file is refused, with one line that contains WORDS.
    refused() {
        local status=0
        "$e4replay" "${replay[@]}" -p "$2" >out 2>err || status=$?
        [ $status = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -qF "$1" err || fail "-p $2 ended with $status: $(<err)"
    }
    sed 's/kInterface = 1/kInterface = 999/' "$prefix/include/e4replay/plugin.h" >plugin.h
    variant later 's,<e4replay/plugin.h>,"plugin.h",'
    refused "was made for plug-in interface 999, but this is 1: compile it again" ./later.so
    echo 'int nothing;' >nothing.cc
    make nothing.cc -o nothing.so
    refused "is a library, but not a policy" ./nothing.so
    refused "is not a policy that can be loaded" "$source/examples/roomy.cc"
    refused "No such file" ./none.so
    # Loading a truncated library can crash a program. e4replay must print a message instead.
    for size in 40 1000 4096; do
        head -c $size roomy.so >cut.so
        refused "is a truncated library" ./cut.so
    done
    variant taken 's/"roomy"/"legacy"/'
    refused "there is a policy legacy already" ./taken.so
    grep -q '^ *roomy  *- ' by-file || fail "there is no row of its rung: $(<by-file)"
    # A database of decisions must have the policy's tunable, with the default of the file.
    "$e4replay" "${replay[@]}" -p ./roomy.so --decisions roomy.sqlite >/dev/null
    [ "$(sqlite3 roomy.sqlite "SELECT value FROM meta WHERE run = 1 AND key = 'roomy_parts'")" = 4 ] ||
        fail "meta has another roomy_parts: $(sqlite3 roomy.sqlite "SELECT * FROM meta")"
    # The tunable changes the results of a replay and of a sweep. A sweep continues only with the same file.
    sweep=(sweep "$captures/churn-4k.img:$captures/churn-4k.trace.zst" -p "legacy,./roomy.so" --no-progress)
    "$e4replay" "${sweep[@]}" --set roomy_parts=2,4,8 -o swept >sweep.out
    [ "$(cut -d, -f3,4,"$(head -1 swept/points.csv | tr , '\n' | grep -nx mb_stats/roomy_stats/hits | cut -d: -f1)" \
        swept/points.csv | sort -u | wc -l)" = 5 ] || fail "a tunable changes nothing: $(<swept/points.csv)"
    "$e4replay" "${sweep[@]}" --set roomy_parts=2,4,8 -o swept --resume >sweep.again
    mkdir parts
    "$e4replay" "${sweep[@]}" --set roomy_parts=2,4,8 --points 1-2 -o parts/a >/dev/null
    "$e4replay" "${sweep[@]}" --set roomy_parts=2,4,8 --points 3-4 -o parts/b >/dev/null
    mv roomy.so aside.so # a merge does not run the policy
    "$e4replay" sweep --merge parts/a parts/b -o merged >/dev/null
    diff merged/points.csv swept/points.csv
    make "$source/examples/roomy.cc" -DANOTHER -O1 -o roomy.so
    cmp -s roomy.so aside.so && fail "the compiler made the same file with -O1"
    if "$e4replay" "${sweep[@]}" --set roomy_parts=2,4,8 -o swept --resume 2>err; then fail "another file was taken"; fi
    grep -q 'roomy.* has changed' err || fail "another file: $(<err)"
    mv aside.so roomy.so
    # Forbidden actions of a criterion end the replay.
    ends() {
        if "$e4replay" "${replay[@]}" -p "$2" >out 2>err; then fail "$2 was taken"; fi
        [ "$(wc -l <err)" = 1 ] && grep -qF "$1" err || fail "$2: $(<err)"
    }
    variant group 's/return number(group);/return 4711u;/'
    ends "policy roomy: choose() of its rung roomy gave group 4711, which cannot be searched" ./group.so
    variant goal 's/set_goal_len(search, std::min.*/set_goal_len(search, 0);/'
    ends "policy roomy: its rung roomy set a goal of 0 clusters" ./goal.so
    # Good policies pass the conformance suite, and bad policies do not.
    "$prefix/bin/e4replay-policy-test" ./roomy.so legacy >suite
    [ "$(grep -cE '^(roomy|legacy): 66 checks passed$' suite)" = 2 ] || fail "the suite says: $(<suite)"
    # fails CHECK FILE COMPLAINT: checks that the suite reports the COMPLAINT for this CHECK.
    fails() {
        if "$prefix/bin/e4replay-policy-test" "$2" >suite; then fail "$2 passed: $(<suite)"; fi
        grep -A4 "^$1  *FAILED" suite | grep -qF "$3" || fail "$2: $(<suite)"
    }
    fails keeps-invariants ./group.so "choose() of its rung roomy gave group 4711"
    variant fickle 's/count_group(search);/static int turn = 0; if (++turn % 3 == 0) continue;/'
    fails repeats-itself ./fickle.so "the same operations gave other decisions"
    variant picky 's/largest_first(), cr2(), cr3()}/largest_first(), cr2(), picky()}/; s/^}  \/\/ namespace$/Rung picky() { Rung last = cr3(); last.least_free = [](const Search\&) { return 2u; }; return last; }\n&/'
    fails last-rung ./picky.so "the last rung wants more than one free cluster"
    fails finds-the-only-free-cluster ./picky.so "it was not found"
    # Names of criteria and tunables must be valid and new.
    variant criterion 's/out.name = "roomy"/out.name = "CR2"/'
    refused "a rung has the name CR2, which is a criterion's" ./criterion.so
    variant tunable 's/"roomy_parts", /"mb_stripe", /'
    refused "there is another tunable mb_stripe already" ./tunable.so
    variant default 's/ 4, 64}/ 65, 64}/'
    refused "the tunable roomy_parts has a default of 65, but its maximum is 64" ./default.so
    variant bad 's/largest_first(), cr2(), cr3()}/cr2(), cr3(), largest_first()}/'
    refused "the last rung must walk" ./bad.so
    ;;
guide)
    # Follows docs/adding-a-policy.md in an empty directory that has only a recording.
    mkdir "$work/empty" "$work/bin"
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$compiler" "${flags[*]}" >"$work/bin/c++"
    chmod +x "$work/bin/c++"
    captures=$(realpath "$E4R_CAPTURES")
    export PATH=$work/bin:$prefix/bin:$PATH
    e4replay trace convert "$captures/churn-4k.trace.zst" "$work/empty/run.e4c" --image "$captures/churn-4k.img" \
        >/dev/null
    "$source/test/follow_guide.py" "$source/docs/adding-a-policy.md" "$work/empty" >"$work/log" 2>&1 ||
        fail "docs/adding-a-policy.md does not lead to its end: $(<"$work/log")"
    diff "$work/empty/roomy.cc" "$source/examples/roomy.cc" || fail "examples/roomy.cc is another file than the page's"
    # Check the output that the page promises: a column, a row, and checks that ran.
    grep -qE '^ +start .* legacy +roomy ' "$work/log" && grep -qE '^  roomy +- ' "$work/log" ||
        fail "there is no column or no row: $(<"$work/log")"
    grep -qE '^roomy: [0-9]+ checks passed' "$work/log" || fail "no check ran: $(<"$work/log")"
    ;;
corpus)
    # The installed program finds the installed captures from any working directory.
    cd "$work"
    "$prefix/bin/e4replay" review --base linux-7.3 --with linux-7.3 --set-with mb_max_to_scan=199 --json review.json \
        --no-progress >/dev/null 2>&1 || fail "there is no review"
    python3 -c 'import json; [print(case["input"]) for case in json.load(open("review.json"))["cases"]]' >inputs
    diff <(find "$prefix/share/e4replay/corpus" -name '*.e4c' | LC_ALL=C sort) <(LC_ALL=C sort inputs) ||
        fail "it has reviewed other captures than are installed"
    [ "$(wc -l <inputs)" = "$(find "$source/traces/corpus" -name '*.e4c' | wc -l)" ] || fail "some are not installed"
    # A name selects an installed capture, unless a file of that name exists.
    for name in smallfiles-1000-trim6 smallfiles-1000-trim6.e4c mail-1k; do
        "$prefix/bin/e4replay" verify "$name" --no-progress >verified 2>&1 || fail "$name: $(<verified)"
    done
    "$prefix/bin/e4replay" info smallfiles-1000-trim6 >info || fail "info finds no capture"
    "$prefix/bin/e4replay" sweep mail-1k -p legacy --dry-run >listing || fail "sweep finds no capture"
    grep -q "share/e4replay/corpus/mail-1k.e4c" listing || fail "sweep names another capture: $(<listing)"
    echo "not an image" >mail-1k
    ! "$prefix/bin/e4replay" verify mail-1k >verified 2>&1 || fail "an installed capture hides a file"
    ;;
*) fail "no part '$part'" ;;
esac
