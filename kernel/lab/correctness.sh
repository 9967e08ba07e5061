#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs every correctness job, one after the other, and fails if any of them fails.
#
# Usage: correctness.sh [--kernel base|SERIES] [--target uml|uml-smp|qemu|arm64] [--variant plain|debug]
#                       [--cpus N] [--list] [JOB...]
#   --kernel, --target, --variant   default: base, uml, debug; the kernel is built if necessary
#   --cpus   CPUs of the guest; only for uml-smp, qemu and arm64 (default: 2)
#   --list   print the jobs that would run and the jobs that would be skipped
#
# The correctness jobs are smoke and every job whose description begins with "Correctness:". A failing job does not stop
# the others. Some jobs are skipped: a job with the line "series: TOPIC" runs only on a kernel with that series, a job
# with the line "base: 6.1" runs only on that base, and the jobs lazyinit-* need a kernel with lazyinit-control. Prints
# a table at the end.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"
tree=base
target=uml
variant=debug
list=0
wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --target) target=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    --cpus) CPUS=$2 && shift ;;
    --list) list=1 ;;
    -*) usage ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
check_cpus "$target"

correctness_jobs() {
    local job
    echo smoke
    for job in "$lab_dir"/jobs/*.sh; do
        if grep -q '^# Correctness: ' "$job"; then basename "$job" .sh; fi
    done
}

# topic_of JOB: prints the topic that the job needs, or an empty line.
topic_of() {
    local topic
    topic=$(job_field "$(job_file "$1")" series)
    case $1 in
    lazyinit-*) topic=${topic:-lazyinit-control} ;;
    esac
    echo "$topic"
}

# has_topic TOPIC: whether the kernel of $tree has this topic.
has_topic() {
    local topics
    topics=$(topics_of "$tree")
    [ -z "$1" ] || [[ ,$topics, == *",$1,"* ]] ||
        { [ "$topics" = all ] && grep -q "^$1/" "$kernel_dir/series/$(base_of "$tree").series"; }
}

# on_base JOB: whether the job runs on this base.
on_base() {
    local wanted_base
    wanted_base=$(job_field "$(job_file "$1")" base)
    [ -z "$wanted_base" ] || [ "$wanted_base" = "$(base_of "$tree")" ]
}

# If the command line names jobs, each of them must be able to run. Otherwise, take all jobs that can run.
if [ ${#wanted[@]} = 0 ]; then
    mapfile -t all < <(correctness_jobs)
    for job in "${all[@]}"; do
        topic=$(topic_of "$job")
        if has_topic "$topic" && on_base "$job"; then
            wanted+=("$job")
        elif has_topic "$topic"; then
            note "left out: $job (for $(job_field "$(job_file "$job")" base), the kernel is $tree)"
        else
            note "left out: $job (needs the series $topic, the kernel is $tree)"
        fi
    done
else
    for job in "${wanted[@]}"; do
        topic=$(topic_of "$job")
        has_topic "$topic" || die "job '$job' needs the series $topic: give --kernel $topic or all"
        on_base "$job" || die "job '$job' is for $(job_field "$(job_file "$job")" base) only"
    done
fi
if [ $list = 1 ]; then
    printf '%s\n' "${wanted[@]}"
    exit
fi

if [ "$tree" != base ]; then "$lab_dir/apply.sh" "$tree" >/dev/null; fi
# variants: prints the variants of the kernel that the wanted jobs need.
variants() {
    local job full
    for job in "${wanted[@]}"; do
        full=$(variant_for "$job" "$variant")
        echo "$full"
        if [ -n "$(job_field "$(job_file "$job")" peer)" ]; then peer_variant "$full"; fi
    done | sort -u
}
for full in $(variants); do
    "$lab_dir/build.sh" "$tree" --target "$target" --variant "$full" >/dev/null
done
build_programs "$target"
build_project make_fragmented
report=$(mktemp "$E4R_LAB/correctness.XXXXXX")
trap 'rm -f "$report"' EXIT
failed=0
for job in "${wanted[@]}"; do
    started=$SECONDS
    note "$job"
    if run=$(run_job "$tree" "$target" "$variant" "$job"); then
        verdict=passed
        rm -rf "$run"
    else
        verdict=FAILED # run_job has printed the reason and the path of the log
        failed=$((failed + 1))
    fi
    printf '%-24s %s in %d s\n' "$job" "$verdict" $((SECONDS - started)) >>"$report"
done
cat "$report"
if [ $failed != 0 ]; then die "$failed of ${#wanted[@]} jobs failed on $tree ($target, $variant)"; fi
echo "all ${#wanted[@]} jobs passed on $tree ($target, $variant, ${CPUS:-default} CPUs)"
