# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: the bytes that the lazyinit thread writes to an existing file system (--disk) between mount and unmount. The
# job waits at least LIFE seconds. Unless the thread is paused, the job also waits until the thread has ended. Then it
# unmounts. Runs on any kernel.
#   MOUNT=init_itable=0   mount options; with this default, the thread does not wait between groups
#   CONTROL="probe=1"     NAME=VALUE words such as state=pause, written to lazyinit_NAME before the first group
#   LIFE=10               minimum seconds from mount to unmount
# timeout: 900
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
[ -b "$DISK" ] || { say "no disk: lab run lazyinit-clone --disk FILE" && false; }

# Prints the bytes written since boot, including write-zeroes requests.
written() {
    awk '{ print $7 * 512 }' "/sys/class/block/$(basename "$DISK")/stat"
}

groups=$(dumpe2fs "$DISK" 2>/dev/null | grep -c '^Group [0-9]')
before=$(zeroed_on_disk)
from=$(written)
mount=${MOUNT:-init_itable=0}
if [ -n "${CONTROL:-}" ]; then
    mount -o noinit_itable "$DISK" "$FS"
    for control in $CONTROL; do set_lazy "${control%%=*}" "${control#*=}"; done
    mount -o "remount,$mount" "$FS"
else
    mount -o "$mount" "$DISK" "$FS"
fi
started=$SECONDS
sleep "${LIFE:-10}"
case " ${CONTROL:-} " in
*" state=pause "*) ;;
*) wait_until 600 no_thread ;;
esac
figure seconds $((SECONDS - started))
umount "$FS"
figure written_bytes $(($(written) - from))
figure groups "$groups"
figure marked_before "$before"
figure marked_after "$(zeroed_on_disk)"
e2fsck -fn "$DISK"
