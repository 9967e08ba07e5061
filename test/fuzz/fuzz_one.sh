#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one fuzzer for SECONDS. Findings stay in the corpus directory as crash-*.
#   fuzz_one.sh FUZZER SECONDS MAX_LEN CORPUS [SEEDS]
set -euo pipefail
fuzzer=$1 seconds=$2 max_len=$3 corpus=$4 seeds=${5:-}
mkdir -p "$corpus"
more=()
if [ -d "$seeds" ]; then
    more=("$seeds")
elif [ -n "$seeds" ]; then
    "$seeds" "$corpus"
fi
# .ci/run uses the same seed for the same commit, so findings can be reproduced.
exec "$fuzzer" ${E4R_SEED:+-seed="$E4R_SEED"} -max_total_time="$seconds" -max_len="$max_len" -timeout=60 -rss_limit_mb=1024 \
    -print_final_stats=1 -artifact_prefix="$corpus/" "$corpus" "${more[@]}"
