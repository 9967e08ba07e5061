#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Records one run with trace-cmd and tracefs at the same time. This gives e4replay three traces: trace-cmd's recording,
# the text that `trace-cmd report` prints, and tracefs's text. All three must have the same events, and the model must
# agree with every decision in them.
#
# Usage: recorders.sh [--kernel base|SERIES] [-p POLICY] [--target uml|qemu] [--events "-e ..."]
#   -p POLICY  the policy that models the kernel (default: legacy)
#   --events   events for trace-cmd (default: -e ext4 -e jbd2)
#
# Prints a line for each trace. Fails if events differ, or if a decision differs from the kernel's. The times of an
# event in tracefs's text and in trace-cmd's recording may differ, because each trace buffer takes its own timestamps.
# tracefs may have more events at the end, because it is closed last.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"
tree=base
policy=legacy
target=uml
vars=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    -p) policy=$2 && shift ;;
    --target) target=$2 && shift ;;
    --events) vars+=("EVENTS=$2") && shift ;;
    *) usage ;;
    esac
    shift
done
need trace-cmd
build_programs
build_project make_fragmented e4replay
e4replay=$(project_build)/tools/e4replay
run=$(run_job "$tree" "$target" "" recorders "${vars[@]}")
image=$(start_image "$(job_field "$lab_dir/jobs/recorders.sh" image)" 1)
# -N disables plugins, -t prints all digits of the time.
trace-cmd report -N -t -i "$run/run.dat" >"$run/run.txt" 2>/dev/null

# events FILE [times]: prints the events of the kinds that tracefs recorded, as text, with or without times.
events() {
    "$e4replay" trace convert "$1" "$run/events.txt" >/dev/null
    grep -v -e '^#' -e ext4_es_ -e ext4_mballoc_discard -e ext4_mb_bitmap_load "$run/events.txt" |
        if [ "${2:-}" = times ]; then cat; else sed -E 's/ +[0-9]+\.[0-9]+: / /'; fi
}

status=0
events "$run/run.dat" times >"$run/recording"
events "$run/run.dat" >"$run/timeless"
echo "events $(wc -l <"$run/recording")"
cmp <(events "$run/run.txt" times) "$run/recording" || status=1
# Both recordings began before the mount, but tracefs continued a little longer than trace-cmd.
events "$run/run.trace" >"$run/tracefs"
lines=$(wc -l <"$run/timeless")
later=$(($(wc -l <"$run/tracefs") - lines))
cmp <(head -n "$lines" "$run/tracefs") "$run/timeless" || status=1
[ "$later" -ge 0 ] && [ "$later" -le 100 ] || status=1
for trace in run.dat run.txt run.trace; do
    # Status 3 means that a counter of mb_stats or a decision differs. A counter may differ: since 6.5, some depend on
    # file sizes. Decisions are checked below.
    "$e4replay" verify "$image" "$run/$trace" -p "$policy" --no-progress >"$run/verify" ||
        [ $? = 3 ] || status=1
    awk -v trace="$trace" '$1 == "identical" { print trace, "identical", $2, $3 "%" }' "$run/verify"
    grep -q '^identical .* 100\.000 %' "$run/verify" || status=1
done
[ $status = 0 ] || die "they differ: $run"
rm -rf "$run"
