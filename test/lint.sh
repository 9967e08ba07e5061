#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cheapest proof: clang-format over every file, shellcheck over every script, and what tools
# print by. Warnings are errors.
#   test/lint.sh                  what .ci/run does
#   test/lint.sh --tidy [BASE]    and clang-tidy over the files that have changed since commit BASE;
#                                 default: all that came in the day before HEAD. BASE "all": every file,
#                                 which takes half an hour
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh test lint

format() {
    git ls-files '*.cc' '*.h' '*.c' | xargs clang-format --dry-run --Werror
}

scripts() {
    # Those that are sourced, such as the jobs of the lab, say which shell they are for.
    git ls-files | grep -vE '^test/golden/.*/expect$|\.md$' | xargs grep -lE '^#!.*(bash|/sh)|^# shellcheck shell=' |
        xargs shellcheck -S warning
}

# What a tool prints may hold anybody's text: all of it goes through the one door that escapes it.
prints() {
    if git ls-files 'tools/*.cc' 'tools/*.h' | grep -v '^tools/common/print_line.h$' |
        xargs grep -nE 'fmt::print\(|std::f?(printf|puts)\(|std::(cout|cerr)|\bperror\('; then
        echo "lint.sh: print with print_line or print_text (tools/common/print_line.h)" >&2
        return 1
    fi
}

# The files that the build compiles, of those that have changed.
tidy() {
    local base=$1 files log status=0
    if [ "$base" = all ]; then
        files=$(git ls-files 'src/*.cc' 'tools/*.cc' 'test/*.cc')
    else
        files=$(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' 'tools/*.cc' 'test/*.cc')
    fi
    # Fuzzers are compiled by a preset of their own, which needs clang.
    files=$(grep -v '^test/fuzz/' <<<"$files" || true)
    if [ -z "$files" ]; then
        echo "lint.sh: no source file has changed since $base"
        return
    fi
    # Without unity: each file has a command of its own.
    cmake --preset dev -DBUILD_TESTING=ON >/dev/null
    # What is made by the build is there before it is included.
    cmake --build --preset dev --target e4r_commit e4r_perfetto >/dev/null
    log=$(mktemp)
    # shellcheck disable=SC2086 # one word is one file
    printf '%s\n' $files | xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet \
        --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' >"$log" 2>&1 || status=$?
    grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed|^Use -header-filter' \
        "$log" || true
    rm -f "$log"
    return $status
}

case ${1:-} in
'' | --tidy) ;;
*) sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2 ;;
esac
format
scripts
prints
[ "${1:-}" != --tidy ] || tidy "${2:-$(test/since.sh)}"
echo "lint.sh: no complaint"
