#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs cheap checks: clang-format on every file, shellcheck on every script, and the use of print functions in tools.
# Warnings are errors.
#   test/lint.sh
#   test/lint.sh --tidy [BASE]    also runs clang-tidy on the files changed since commit BASE;
#                                 default: the commit of test/since.sh. BASE "all" means every file,
#                                 which takes half an hour
#   test/lint.sh --turn TEXT      also runs clang-tidy on 24 of those files, chosen by the hash of TEXT:
#                                 .ci/run uses this
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh test lint

format() {
    git ls-files '*.cc' '*.h' '*.c' | xargs clang-format --dry-run --Werror
}

scripts() {
    # Sourced scripts, such as the lab's jobs, have no #! line. A comment names their shell instead.
    git ls-files | grep -vE '^test/golden/.*/expect$|\.md$' | xargs grep -lE '^#!.*(bash|/sh)|^# shellcheck shell=' |
        xargs shellcheck -S warning
}

# A tool's output may contain text from traces and images, so all output must go through the functions that escape it.
prints() {
    if git ls-files 'tools/*.cc' 'tools/*.h' | grep -v '^tools/common/print_line.h$' |
        xargs grep -nE 'fmt::print\(|std::f?(printf|puts)\(|std::(cout|cerr)|\bperror\('; then
        echo "lint.sh: print with print_line or print_text (tools/common/print_line.h)" >&2
        return 1
    fi
}

# Some scripts print lines of their header as usage. Checks that each of them finds such lines.
usages() {
    local script words found=0
    while IFS=: read -r script words; do
        words=${words#*^#   }
        words=${words%/usage}
        grep -q "^#   $words" "$script" && continue
        echo "lint.sh: $script: no line of its header begins with '$words', so it prints no usage" >&2
        found=1
    done < <(git grep -oE "sed -n 's/\^#   [^/]+/usage")
    return $found
}

# changed COMMIT|all: prints the compiled source files that have changed since COMMIT, or all of them. Leaves out
# fuzzers, which have a separate preset that needs clang.
changed() {
    local patterns=('src/*.cc' 'tools/*.cc' 'test/*.cc')
    if [ "$1" = all ]; then
        git ls-files "${patterns[@]}"
    else
        git diff --name-only --diff-filter=d "$1" -- "${patterns[@]}"
    fi | { grep -v '^test/fuzz/' || true; }
}

# sample TEXT: prints 24 of the input lines, chosen by the hash of each line and TEXT.
sample() {
    local line
    while read -r line; do echo "$(sha256sum <<<"$1 $line") $line"; done | sort | head -n 24 | awk '{ print $3 }'
}

# tidy FILE...: runs clang-tidy. (Clang does not support all of GCC's options, so ignore unknown options.)
tidy() {
    local log status=0
    [ $# -gt 0 ] || { echo "lint.sh: no source file has changed" && return; }
    # The preset dev does not use unity builds, so each file has its own compile command.
    cmake --preset dev -DBUILD_TESTING=ON >/dev/null
    # clang-tidy needs the generated headers.
    cmake --build --preset dev --target e4r_commit e4r_perfetto >/dev/null
    log=$(mktemp)
    printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet \
        --extra-arg=-Wno-unused-command-line-argument --extra-arg=-Wno-unknown-warning-option \
        --extra-arg=-Wno-zero-as-null-pointer-constant \
        --warnings-as-errors='*' >"$log" 2>&1 || status=$?
    grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated|^Suppressed|^Use -header-filter' \
        "$log" || true
    rm -f "$log"
    return $status
}

usage() {
    sed -n 's/^#   test/usage: test/p' "$0" >&2
    exit 2
}

base=$(test/since.sh)
files=()
case ${1:-} in
'') ;;
--tidy)
    base=${2:-$base}
    [ "$base" = all ] || git rev-parse --quiet --verify "$base^{commit}" >/dev/null || {
        echo "lint.sh: no commit '$base': give one, or all" >&2
        exit 2
    }
    mapfile -t files < <(changed "$base")
    ;;
--turn)
    [ $# -gt 1 ] || usage
    mapfile -t files < <(changed "$base" | sample "$2")
    ;;
*) usage ;;
esac
format
scripts
prints
usages
[ -z "${1:-}" ] || tidy "${files[@]}"
echo "lint.sh: no complaint"
