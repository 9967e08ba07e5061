#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a fuzzer for a long time on one core, at the lowest priority, and continues where the last run ended. The fuzzer
# is fuzz_pair, or another fuzzer that draws everything from its input (fuzz_lazyinit).
#   long.sh [-f FUZZER] SECONDS [CORPUS]     default: fuzz_pair, build/fuzz/long
# Builds the fuzzer without libFuzzer's tracing of comparisons, which would take half of the time. Does not look for
# leaks, because the short runs of run.sh do. A small quarantine saves another fifth of the time, and -O3 a tenth. Stops
# after SECONDS. Adds its executions and CPU seconds to CORPUS.spent and prints the sums. Findings are stored in CORPUS
# as crash-*, timeout-* or oom-*, and then the exit status is not 0.
#   long.sh [-f FUZZER] --keep [CORPUS]      copies the smallest set of inputs with full coverage to test/fuzz/corpus
set -euo pipefail
cd "$(dirname "$0")/../.."
name=fuzz_pair
if [ "${1:-}" = -f ] && [ $# -ge 2 ]; then
    name=$2
    shift 2
fi
fuzzer=build/fuzz-long/test/fuzz/$name
kept=test/fuzz/corpus/${name#fuzz_}
if [ $# -lt 1 ] || [ ! -d "$kept" ]; then
    sed -n 's/^#  *long.sh/usage: long.sh/p' "$0" >&2
    exit 2
fi
tools/setup.sh test fuzz
mkdir -p build
{
    flock 9 # several instances may start at the same time, one per core
    cmake --preset fuzz -B build/fuzz-long -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_FLAGS=-fno-sanitize-coverage=trace-cmp >/dev/null
    cmake --build build/fuzz-long --target "$name"
} 9>build/fuzz-long.lock
corpus=${2:-build/fuzz/long}
mkdir -p "$corpus"

if [ "$1" = --keep ]; then
    fewest=$(mktemp -d)
    trap 'rm -rf "$fewest"' EXIT
    $fuzzer -set_cover_merge=1 -use_counters=0 -max_len=512 "$fewest" "$kept" "$corpus" 2>/dev/null
    rm -f "$kept"/kept-*
    number=0
    for file in "$fewest"/*; do
        number=$((number + 1))
        cp "$file" "$(printf '%s/kept-%03d' "$kept" "$number")"
    done
    echo "$number inputs in $kept"
    exit
fi

status=0
TIMEFORMAT='cpu %U %S'
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=1:max_malloc_fill_size=0
{ time nice -n 19 "$fuzzer" -max_total_time="$1" -max_len=512 -entropic=0 -timeout=60 \
    -detect_leaks=0 -reload=0 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$corpus/" \
    "$corpus" "$kept" || status=$?; } \
    2>"$corpus.log"
ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus.log")
if [ -z "$ran" ]; then
    echo "long.sh: the fuzzer did not come to its end: $corpus.log" >&2
    exit 1
fi
[ -e "$corpus.spent" ] || echo 0 0 >"$corpus.spent"
awk -v ran="$ran" 'FNR == NR { ran += $1; spent = $2; next } $1 == "cpu" { spent += $2 + $3 }
    END { printf "%d %.0f\n", ran, spent }' "$corpus.spent" "$corpus.log" >"$corpus.spent.new"
mv "$corpus.spent.new" "$corpus.spent"
awk -v ran="$ran" -v files="$(find "$corpus" -type f | wc -l)" -v corpus="$corpus" '{
    printf "%d executions; in all %d, in %.2f hours of a core; %d inputs in %s\n",
        ran, $1, $2 / 3600, files, corpus }' "$corpus.spent"
if [ $status != 0 ]; then tail -20 "$corpus.log" >&2; fi
exit $status
