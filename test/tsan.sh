#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every suite under the thread sanitizer: a race anywhere fails the test that showed it.
#   test/tsan.sh [--all | --turn TEXT | K]    default: --all
#     K              the K-th of $parts parts: every $parts-th case of every suite, and of the tests
#                    that are no suite
#     --turn TEXT    the part that is TEXT's turn, by its hash (such as a commit)
set -euo pipefail
cd "$(dirname "$0")/.."
parts=4

usage() {
    sed -n "s/^#   test/usage: test/p" "$0" >&2
    exit 2
}

case ${1:---all} in
--all) part=all ;;
--turn)
    [ $# = 2 ] || usage
    part=$(($(test/turn.sh tsan "$2" $parts) + 1))
    ;;
[1-9])
    part=$1
    [ "$part" -le $parts ] || usage
    ;;
*) usage ;;
esac

floor=$(<test/floor)
# gcc 12's runtime refuses an address space that is laid out more at random than this.
fixed=()
if [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ]; then fixed=(setarch -R); fi
choice=()
if [ "$part" != all ]; then
    echo "tsan.sh: part $part of $parts"
    listed=$("${fixed[@]}" test/run.sh tsan -N -L suite | sed -n 's/^Total Tests: //p')
    # GoogleTest leaves some suites with a case less than their share.
    floor=$((floor / parts - listed / 2))
    export GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$((part - 1))
    # captures.unpack stays in every part: ctest does not bring back a fixture that -E leaves out.
    left_out=$("${fixed[@]}" test/run.sh tsan -N -LE suite |
        sed -n 's/^ *Test *#[0-9]*: //p' | grep -vx 'captures\.unpack' |
        awk "NR % $parts != $part - 1" | paste -sd'|')
    choice=(-E "^(${left_out//./\\.})\$")
fi
"${fixed[@]}" test/run.sh tsan "${choice[@]}"
test/ran.sh build/tsan/results.xml "$floor" >/dev/null
