#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Takes a capture in a guest: start image, trace, mb_groups, mb_stats, tunables and e2freefrag's view of the end state,
# as separate files in one directory. `e4replay trace convert NAME.trace.zst NAME.e4c --image NAME.img` combines them
# into one capture file.
#
# Usage: capture.sh KIND [--seed N] [--warm] [--kernel base|SERIES] [--pack] -o DIR
#        capture.sh --list
#   --warm   read mb_groups right after mount; that loads every group
#   --pack   store the start image as a sparse tar (NAME.image.tar.zst), not as NAME.img
#
# kernel/lab/kinds.table lists the kinds and the target of their guests. The kernel must already have been built
# (build.sh). capture.sh itself builds the workload programs and, in the project's release build, make_fragmented.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"

seed=1
warm=0
tree=base
pack=0
kind=
out=
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=$2 && shift ;;
    --warm) warm=1 ;;
    --kernel) tree=$2 && shift ;;
    --pack) pack=1 ;;
    -o) out=$2 && shift ;;
    --list) list_kinds && exit ;;
    -*) usage ;;
    *) [ -z "$kind" ] || usage
        kind=$1 ;;
    esac
    shift
done
{ [ -n "$kind" ] && [ -n "$out" ]; } || usage
known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table: there are $(list_kinds | paste -sd' ')"
mkdir -p "$out"
out=$(cd "$out" && pwd)
name=$(capture_name "$kind" "$seed" "$warm" "$tree")
need zstd e2freefrag
target=$(target_of_kind "$kind")
# mballoc has a locality group for each CPU. Use one CPU, so that every writer uses the same group.
CPUS=1
build_programs "$target"
build_project make_fragmented
work=$(new_run "${name//,/+}") # UML splits disk names at commas

make_start_image "$kind" "$seed" "$work/$name.img"
run=$(kind_field "$kind" run)
[ -n "$run" ] || die "kind '$kind' is a start image for jobs: it has no 'run'"
before=$(kind_field "$kind" before)
resume=
if [ -n "$before" ]; then
    # A first run with another seed ages the image. The recorded churn then continues with the existing files.
    DISKS=("$work/$name.img")
    VARS=("MOUNT=$(kind_field "$kind" mount)" "RUN=$before --seed $((seed + 1000))")
    guest "$work" "$tree" "$target" plain "$lab_dir/jobs/prepare.sh"
    if [ "${run%% *}" = churn ] && [ -e "$work/manifest" ]; then resume=" --resume $work/manifest"; fi
fi
# The guest uses a copy, so the start image stays unchanged.
cp --sparse=always "$work/$name.img" "$work/disk"
DISKS=("$work/disk")
APPEND=$(kind_field "$kind" append)
TIMEOUT=${TIMEOUT:-$((900 * $(patience "$target" plain)))}
VARS=("NAME=$name" "MOUNT=$(kind_field "$kind" mount)" "KNOBS=$(kind_field "$kind" knobs)"
    "RUN=$run$resume --seed $seed" "WARM=$warm" "SETTLE=$(kind_field "$kind" settle)"
    "TRACE_KB=$(kind_field "$kind" trace)")
guest "$work" "$tree" "$target" plain "$lab_dir/jobs/capture.sh"

e2freefrag "$work/disk" >"$work/$name.e2freefrag"
sed -i '1s/^Device: .*/Device: '"$name.img"'/' "$work/$name.e2freefrag"
zstd -q -f -T2 -6 "$work/$name.trace" -o "$out/$name.trace.zst"
rm -f "$out/$name.mb_stats"
[ ! -e "$work/$name.mb_stats" ] || mv "$work/$name.mb_stats" "$out/" # kernels before 5.10.181 have no mb_stats
# This file lists the discards that the disk received. It exists only if the workload uses discard or FITRIM.
if [ -e "$work/$name.discards" ]; then mv "$work/$name.discards" "$out/"; fi
if [ "$pack" = 1 ]; then
    tar -cSf - -C "$work" "$name.img" | zstd -q -f -19 -o "$out/$name.image.tar.zst"
else
    cp --sparse=always "$work/$name.img" "$out/"
fi
# Move these files last: a capture that has them is complete.
for part in mb_groups tunables e2freefrag; do mv "$work/$name.$part" "$out/"; done
rm -rf "$work"
echo "$out/$name"
