# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: one thread serves all file systems. A file system with a long wait or a pause does not delay another, and
# unmounting one does not disturb the other.
# mem: 1G
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
truncate -s 256M /mnt/one /mnt/two
one=$(losetup -f --show /mnt/one)
two=$(losetup -f --show /mnt/two)
mkdir /mnt/fs1 /mnt/fs2
DISK=$one FS=/mnt/fs1
make_lazy -b 1024
DISK=$two FS=/mnt/fs2
make_lazy -b 1024

on_one() {
    DISK=$one FS=/mnt/fs1
}
on_two() {
    DISK=$two FS=/mnt/fs2
}

for how in waits paused; do
    say "the first one $how"
    on_one
    make_lazy -b 1024
    mount -o init_itable=1000000 "$one" "$FS"
    if [ $how = paused ]; then
        if ! has_lazy state; then break; fi
        set_lazy state pause
    else
        wait_until 30 at_least 1
    fi
    on_two
    make_lazy -b 1024
    mount -o init_itable=0 "$two" "$FS"
    wait_until 30 all_done
    check_finished
    on_one
    expect_that "groups of the first one" "$(lazy "done")" -le 2
    # Mounts the second file system again, and unmounts the first while groups of the second still wait for the thread.
    on_two
    make_lazy -b 1024
    mount -o init_itable=1000000 "$two" "$FS"
    wait_until 30 at_least 1
    on_one
    umount "$FS"
    on_two
    set_lazy wait_mult 0
    wait_until 30 all_done
    check_finished
    wait_until 5 no_thread
    e2fsck -fn "$one"
done
on_one
if mountpoint -q "$FS"; then umount "$FS"; fi
