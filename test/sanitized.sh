#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs every test under a sanitizer. A report in any process fails the test that started the process.
#   test/sanitized.sh asan|tsan [--all | --turn TEXT | K]    default: --all
#     asan           AddressSanitizer and UndefinedBehaviorSanitizer, in 3 parts
#     tsan           ThreadSanitizer, in 4 parts
#     K              only part K of the N parts: every N-th case of every suite, and every N-th other test
#     --turn TEXT    only one part, chosen by the hash of TEXT (such as a commit)
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    sed -n "s/^#   test/usage: test/p" "$0" >&2
    exit 2
}

preset=${1:-}
# With this number of parts, each part takes about ten minutes.
case $preset in
asan) parts=3 ;;
tsan) parts=4 ;;
*) usage ;;
esac
case ${2:---all} in
--all) part=all ;;
--turn)
    [ $# = 3 ] || usage
    part=$(($(test/turn.sh "$preset" "$3" $parts) + 1))
    ;;
[1-9])
    part=$2
    [ "$part" -le $parts ] || usage
    ;;
*) usage ;;
esac

# tests CTEST_ARGUMENTS...: prints the names of the selected tests.
tests() {
    ctest --preset "$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p'
}

# fixtures: prints the names of the fixtures of other tests.
fixtures() {
    ctest --preset "$preset" --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    if any(p["name"] == "FIXTURES_SETUP" for p in test.get("properties", [])):
        print(test["name"])'
}

floor=$(<test/floor)
# The thread sanitizer of gcc 12 works only if at most 28 bits of addresses are random.
fixed=()
if [ $preset = tsan ] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ]; then
    fixed=(setarch -R)
fi
choice=()
if [ "$part" != all ]; then
    echo "sanitized.sh: $preset, part $part of $parts"
    "${fixed[@]}" test/run.sh "$preset" -N >/dev/null # only builds
    # The cases of a suite are not always divisible by the number of parts, so a part may have one case of a suite less.
    floor=$((floor / parts - $(tests -L '^suite$' -LE '^case$' | wc -l) / 2))
    export GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$((part - 1))
    # Do not exclude fixtures from any part, because ctest does not run a fixture that -E excludes.
    left_out=$({ tests -LE '^suite$' && tests -L '^case$'; } | grep -vxFf <(fixtures) |
        awk "NR % $parts != $part - 1" | paste -sd'|')
    choice=(-E "^(${left_out//./\\.})\$")
fi
"${fixed[@]}" test/run.sh "$preset" "${choice[@]}"
test/ran.sh "build/$preset/results.xml" "$floor" >/dev/null
