#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a guest with an interactive shell. `exit` shuts it down.
#
# Usage: boot.sh base|SERIES [--target uml|qemu|arm64] [--variant plain|debug] [--image KIND [--seed N]]
#
# The guest's root is the host's root, so write only to /mnt and to $E4R_RUN. With --image, a copy of that kind's start
# image is the disk (/dev/ubda or /dev/vda).
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
target=uml
variant=plain
image=
seed=1
tree=
while [ $# -gt 0 ]; do
    case $1 in
    --target) target=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    --image) image=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    -*) usage ;;
    *) [ -z "$tree" ] || usage
        tree=$1 ;;
    esac
    shift
done
[ -n "$tree" ] || usage
kernel=$(kernel_image "$tree" "$target" "$variant")
[ -e "$kernel" ] || die "no kernel $kernel: run build.sh"
build_programs "$target"
run=$(new_run boot)
DISKS=()
if [ -n "$image" ]; then
    build_project make_fragmented
    make_start_image "$image" "$seed" "$run/disk"
    DISKS=("$run/disk")
fi
disk=/dev/ubda
[[ $target = uml* ]] || disk=/dev/vda
printf '%s=%q\n' TOKEN interactive INTERACTIVE 1 DISK "$disk" LAB "$lab_dir" >"$run/env"
"${target}_command" "$run" "$kernel"
status=0
"${guest_command[@]}" || status=$?
rm -rf "$run"
exit $status
