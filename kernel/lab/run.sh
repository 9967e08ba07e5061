#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs one job in a guest and prints its figures.
#
# Usage: run.sh JOB [--kernel base|SERIES] [--target uml|uml-smp|qemu|arm64] [--variant V] [--cpus N]
#               [--image KIND | --disk FILE...] [--seed N] [--no-trim] [--set NAME=VALUE]... [--append WORDS]
#        run.sh --list
#   --cpus  CPUs of the guest; only for uml-smp, qemu and arm64 (default: 2)
#   --append  more arguments for the kernel, such as time-travel=inf-cpu (uml)
#   --disk  the guest's disk is FILE itself, not a copy of an image, and keeps all writes. Repeat it for
#           more disks
#   --no-trim  the disk offers no discard and no write-zeroes request, so zeros are written as data (uml)
#   --set   a variable for the job, such as KNOBS="mb_max_to_scan=100" or MOUNT=nodelalloc
#
# Fails if the guest exceeds the job's time limit, leaves no completion marker, or ran another kernel. Also fails if its
# log has a warning, a lockdep report, a hung task or an ext4 error.
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
variant=
job=
vars=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --target) target=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    --cpus) CPUS=$2 && shift ;;
    --image) IMAGE=$2 && shift ;;
    --disk) DISK_FILES+=("$(realpath -e -- "$2")") && shift ;;
    --no-trim) NO_TRIM=1 ;;
    --seed) SEED=$2 && shift ;;
    --set) vars+=("$2") && shift ;;
    --append) APPEND=$2 && shift ;;
    --list) list_jobs && exit ;;
    -*) usage ;;
    *) [ -z "$job" ] || usage
        job=$1 ;;
    esac
    shift
done
[ -n "$job" ] || usage
check_cpus "$target"
[ -z "${NO_TRIM:-}" ] || [[ $target = uml* ]] || die "--no-trim: for User Mode Linux only"
build_programs "$target"
[ ${#DISK_FILES[@]} -gt 0 ] || build_project make_fragmented # for start images
run=$(run_job "$tree" "$target" "$variant" "$job" "${vars[@]}")
echo "kernel $(head -1 "$run/kernel")"
if [ -e "$run/figures" ]; then cat "$run/figures"; fi
note "log: $run/log"
