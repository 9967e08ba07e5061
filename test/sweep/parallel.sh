#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the script from `sweep --emit parallel` with GNU parallel, kills it and all of its jobs half-way, and runs it
# again.
#   test/sweep/parallel.sh E4REPLAY CAPTURES      exit status 77: GNU parallel is not installed
set -euo pipefail
parallel --version 2>/dev/null | grep -q '^GNU parallel' || {
    echo "no GNU parallel here" >&2
    exit 77
}
# shellcheck source=test/sweep/jobs.sh
. "$(dirname "$0")/jobs.sh" "$@"
export PARALLEL=-j2 PARALLEL_HOME=$work # two jobs, even on one CPU

emit parallel
sh job.sh >first 2>&1 &
first=$!
wait_for 300 "two jobs to be in mid-run" both_held
in_mid_run 1
in_mid_run 2
refuses_to_join '.*, 1[0-9]-32'
kill_ours
wait $first 2>/dev/null && fail "the killed script ended as if all were well"
[ -z "$(ours)" ] || fail "still there after the kill: $(ours)"
[ ! -e parts/all ] || fail "the killed script has joined the parts"

for turn in second third; do
    sh "$dir/job.sh" >$turn 2>&1 || fail "the $turn run failed: $(cat $turn)"
    same_as_whole parts/all
done
went_on second
echo "killed and run again: the same as one run"
