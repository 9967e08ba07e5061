# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: the kernel reads an unreadable block bitmap (dm-dust) and reports the error only once, not at every
# allocation that prefetches the flex group. The other groups of the flex group are still initialized.
#   BY=search   a search for blocks reads the bitmap. BY=thread: the thread that reads bitmaps ahead after mount
#               reads it. 7.3 searches lists, so its searches never read this bitmap: use --set BY=thread.
# series: mballoc-cr1.5
# image: 4k-delalloc
# timeout: 120
# expected: EXT4-fs error .*: Cannot read block bitmap
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

bad=5
block=$(dumpe2fs "$DISK" 2>/dev/null | awk -v group="$bad:" '
    $1 == "Group" { inside = $2 == group }
    inside && !found && /Block bitmap at/ { sub(/.*Block bitmap at /, ""); print $1 + 0; found = 1 }')
expect_that "block of the bitmap" "$block" -gt 0
dmsetup create dusty --table "0 $(blockdev --getsz "$DISK") dust $DISK 0 4096"
dmsetup message dusty 0 addbadblock "$block" >/dev/null
dmsetup message dusty 0 enable
DISK=/dev/dm-0
for event in ext4_mb_buddy_bitmap_load ext4_prefetch_bitmaps; do
    echo 1 >"$TRACING/events/ext4/$event/enable"
done
prefetched() {
    grep -q 'ext4_prefetch_bitmaps:' "$TRACING/trace"
}
options=errors=continue,nodelalloc,noinit_itable
if [ "${BY:-search}" = thread ]; then
    mount -o "$options" "$DISK" "$FS"
    wait_until 30 prefetched
else
    mount_disk "$options,no_prefetch_block_bitmaps"
fi
"$BIN/mkfiles" --threads 1 --files 50 --kib 1024 "$FS" >/dev/null
sync
expect "errors, after 50 files" "$(cat "$(knobs)/errors_count")" 1
loaded=$(sed -n 's/.*ext4_mb_buddy_bitmap_load: .* group \([0-9]*\).*/\1/p' "$TRACING/trace" |
    sort -nu | paste -sd' ')
for group in 0 1 2 3 4 6 7; do
    expect_that "group $group among those initialized ($loaded)" \
        "$(tr ' ' '\n' <<<"$loaded" | grep -cx "$group")" -eq 1
done
umount "$FS"
dmsetup remove dusty
