# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: with lazyinit_probe, the kernel does not write tables that are zero on disk. It writes all others: tables
# of random data, tables with a single nonzero byte at the end, and unreadable tables. Counters and trace events must
# match the flags on disk. On a device that supports discard, zeros may come from a discard and may not last. So the
# kernel refuses the value 1 for such a device. If the device starts to support discard later, the kernel ignores the
# value.
# base: 6.1
# image: plain-1g
# timeout: 600
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

# Discards the disk. Drops the output, because the lab would treat messages about lost data as trouble.
empty_disk() {
    blkdiscard -f "$DISK" 2>/dev/null
}

# Prints the bytes written to $DISK since boot.
written() {
    awk '{ print $7 * 512 }' "/sys/class/block/$(basename "$DISK")/stat"
}

# initialize PROBE: mounts and waits until everything is initialized. Sets `zeroed` and `skipped` to the counters, and
# `bytes` to the bytes written until after unmount.
initialize() {
    local from events
    from=$(written)
    : >"$TRACING/trace"
    echo 1 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
    mount -o noinit_itable "$DISK" "$FS"
    set_lazy probe "$1"
    expect "probe" "$(lazy probe)" "$1"
    mount -o remount,init_itable=0 "$FS"
    wait_until 120 all_done
    wait_until 2 state_is idle
    zeroed=$(lazy zeroed) skipped=$(lazy skipped) time_us=$(lazy time_us)
    echo 0 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
    check_finished
    bytes=$(($(written) - from))
    expect "groups counted" $((zeroed + skipped)) "$groups"
    expect_that "time" "$time_us" -gt 0
    events=$(sed -n 's/.*ext4_lazy_itable_init: .* group \([0-9]*\) duration_ns \([0-9]*\) .* skipped \([01]\) ret 0$/\1 \2 \3/p' \
        "$TRACING/trace")
    expect "groups traced" "$(sort -nu <<<"$events" | wc -l)" "$groups"
    expect "groups traced as skipped" "$(grep -c ' 1$' <<<"$events" || true)" "$skipped"
    # The counter must equal the sum over the events.
    expect "time traced" "$(awk '{ ns += $2 } END { printf "%d", ns / 1000 }' <<<"$events")" "$time_us"
}

# Fails unless every table without a used inode is completely zero.
expect_zero_tables() {
    local group first last n=0
    unused_tables >"$TMPDIR/tables"
    while read -r group first last; do
        n=$((n + 1))
        if ! cmp -s -i $((first * 1024)):0 -n $(((last - first + 1) * 1024)) "$DISK" /dev/zero; then
            say "table of group $group is not zero"
            return 1
        fi
    done <"$TMPDIR/tables"
    expect_that "tables looked at" "$n" -gt 10
}

# The disk has no data at first. The space that its file takes on the host shows how much was written.
allocated() {
    sync
    echo $(($(stat -c %b "$E4R_RUN/disk") * 512))
}
refused() {
    ! set_lazy probe "$1" 2>"$TMPDIR/refused" || { say "probe took '$1'" && return 1; }
    expect "why not" "$(sed 's/.*: //' "$TMPDIR/refused")" "$2"
}
for probe in 0 2; do
    empty_disk
    make_lazy -b 1024
    before=$(allocated)
    initialize $probe
    figure "sparse_probe${probe}_written" "$bytes"
    figure "sparse_probe${probe}_allocated" $(($(allocated) - before))
    figure "sparse_probe${probe}_us" "$time_us"
    figure "sparse_probe${probe}_zeroed" "$zeroed"
    eval "bytes$probe=\$bytes"
done
expect "tables written to an empty disk" "$zeroed" 0
tables=$(unused_tables | awk '{ n += $3 - $2 + 1 } END { print n * 1024 }')
figure tables_bytes "$tables"
expect_that "bytes spared" $((bytes0 - bytes2)) -ge "$tables"

# A ubd disk supports discard, and discarded data could reappear, so the kernel must refuse 1. It always refuses invalid
# values.
mount -o noinit_itable "$DISK" "$FS"
refused 1 "Operation not supported"
for bad in 3 -1 x ''; do refused "$bad" "Invalid argument"; done
expect "probe after all that" "$(lazy probe)" 0
umount "$FS"

# The disk has random data (only in its first part, to save time).
dd if=/dev/urandom of="$DISK" bs=1M count=200 conv=notrunc status=none
size=200M make_lazy -b 1024
initialize 2
expect "random tables left alone" "$skipped" 0
figure random_zeroed "$zeroed"
expect_zero_tables

# Every fifth table has a nonzero byte at its end.
empty_disk
make_lazy -b 1024
marked=0
unused_tables >"$TMPDIR/tables"
while read -r group first last; do
    [ $((group % 5)) = 0 ] || continue
    marked=$((marked + 1))
    printf x | dd of="$DISK" bs=1 seek=$(((last + 1) * 1024 - 1)) conv=notrunc status=none
done <"$TMPDIR/tables"
sync
expect_that "tables with a byte" "$marked" -gt 5
initialize 2
expect "tables written" "$zeroed" "$marked"
expect_zero_tables

# Some tables are unreadable until they are written.
empty_disk
make_lazy -b 1024
unused_tables >"$TMPDIR/tables"
below=$DISK
dmsetup create dusty --table "0 $(blockdev --getsz "$DISK") dust $DISK 0 1024"
while read -r group first last; do
    [ $((group % 7)) = 0 ] || continue
    dmsetup message dusty 0 addbadblock $((first + 3)) >/dev/null
done <"$TMPDIR/tables"
bad=$(awk '$1 % 7 == 0' "$TMPDIR/tables" | wc -l)
expect_that "tables with an unreadable block" "$bad" -gt 5
dmsetup message dusty 0 enable
DISK=/dev/dm-0
initialize 2
expect "unreadable tables written" "$zeroed" "$bad"
expect_zero_tables
dmsetup remove dusty

# The disk cannot discard.
DISK=$below
make_null_blk irqmode=0 blocksize=512
no_discard=$DISK
size=64M make_lazy -b 1024
initialize 1
expect "tables written where nothing is discarded" "$zeroed" 0

# While the file system is mounted, its disk is replaced by one that has the same contents but supports discard. The
# value 1 must then have no effect.
size=64M make_lazy -b 1024
dmsetup create turned --table "0 131072 linear $no_discard 0"
DISK=/dev/dm-0
mount -o noinit_itable "$DISK" "$FS"
set_lazy probe 1
dmsetup suspend turned
dd if="$no_discard" of="$below" bs=1M count=64 conv=fsync status=none
dmsetup reload turned --table "0 131072 linear $below 0"
dmsetup resume turned
mount -o remount,init_itable=0 "$FS"
wait_until 60 all_done
expect "tables written after that" "$(lazy zeroed) $(lazy skipped)" "$groups 0"
check_finished
dmsetup remove turned

# Discards are not deterministic here: discarded tables read as zeros at first and as old data later. (Reads of the
# tables are redirected to an empty file until that file is removed.)
truncate -s 1G /mnt/zeros
zeros=$(losetup -f --show /mnt/zeros)
for probe in 1 2; do
    DISK=$below
    dd if=/dev/urandom of="$DISK" bs=1M count=100 conv=notrunc status=none
    size=100M make_lazy -b 1024
    unused_tables | sort -n -k 2 | awk -v disk="$below" -v zeros="$zeros" '
        BEGIN { at = 0 }
        function linear(to) {
            if (to > at) print at, to - at, "linear", disk, at
        }
        {
            first = $2 * 2; linear(first); at = ($3 + 1) * 2
            print first, at - first, "delay", zeros, first, 0, disk, first, 0
        }
        END { linear(204800) }' >"$TMPDIR/trimmed"
    dmsetup create trimmed "$TMPDIR/trimmed"
    DISK=/dev/dm-0
    if [ $probe = 1 ]; then
        mount -o noinit_itable "$DISK" "$FS"
        refused 1 "Operation not supported"
        umount "$FS"
        initialize 0
    else
        initialize 2
    fi
    dmsetup remove trimmed
    DISK=$below
    if [ $probe = 1 ]; then
        expect "tables left alone" "$skipped" 0
        expect_zero_tables
    elif expect_zero_tables >/dev/null; then
        say "nothing came back: this proves nothing"
        false
    fi
done
