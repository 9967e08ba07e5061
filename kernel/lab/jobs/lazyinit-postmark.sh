# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: postmark beside the lazyinit thread, on null_blk that takes a millisecond for a request
# of up to 32 KiB and does one at a time. Any kernel.
#   LAZY=init_itable=10  or noinit_itable
#   TRANSACTIONS=3000
# mem: 3G
# timeout: 900
# append: time-travel=inf-cpu null_blk.nr_devices=1 null_blk.gb=8 null_blk.bs=4096 null_blk.memory_backed=1 null_blk.irqmode=2 null_blk.completion_nsec=1000000 null_blk.queue_mode=2 null_blk.submit_queues=1 null_blk.hw_queue_depth=1 null_blk.max_sectors=64
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
DISK=/dev/nullb0
# Tables of 1/16 of the disk: 16,384 requests, so that the thread is at it all the time.
make_lazy -b 4096 -g 8192 -i 4096
cat >"$TMPDIR/postmark" <<TEXT
set location $FS
set seed 42
set number 200
set subdirectories 10
set size 500 10000
set transactions ${TRANSACTIONS:-3000}
set report terse
run
quit
TEXT
# Every change goes to the disk before the call returns: postmark itself does not wait for any.
mount -o "sync,noinit_itable" "$DISK" "$FS"
mount -o "remount,${LAZY:-init_itable=10}" "$FS"
# The thread starts after up to five seconds; without one, wait as long.
sleep 6
started=$(date +%s%N)
postmark "$TMPDIR/postmark" >"$E4R_RUN/postmark"
ended=$(date +%s%N)
umount "$FS"
cat "$E4R_RUN/postmark"
# With whole seconds in it, as postmark measures.
figure postmark_transactions_per_s "$(awk '$3 ~ /^[0-9.]+$/ && NF > 10 { print $3 }' "$E4R_RUN/postmark")"
figure duration_ms $(((ended - started) / 1000000))
# Of all that postmark did, files made before and deleted after the transactions included.
figure transactions_per_s "$(awk -v n="${TRANSACTIONS:-3000}" -v ns=$((ended - started)) \
    'BEGIN { printf "%.2f", n * 1e9 / ns }')"
figure groups_zeroed "$(zeroed_on_disk)"
e2fsck -fn "$DISK"
