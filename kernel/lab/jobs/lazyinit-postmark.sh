# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: the speed of a foreground workload while the lazyinit thread works. The disk is null_blk: it handles one
# request of up to 32 KiB at a time, in a millisecond. Runs on any kernel.
#   LAZY=init_itable=10  mount option: init_itable=N or noinit_itable
#   CACHE=none           the disk has no volatile cache. null_blk: it has one, and a flush costs one request.
#                        loop: a loop device on the disk; its page cache accepts writes at once and writes
#                        them back on a flush
#   BARRIER=1            the mount option barrier: 1 or 0
#   FOREGROUND=postmark  postmark, with the mount option sync. Or stream: RATE direct writes of 64 KiB per
#                        second, never flushed
#   TRANSACTIONS=3000    transactions of postmark
#   RATE=16, SECONDS_OF_STREAM=60
# mem: 3G
# timeout: 900
# append: time-travel=inf-cpu null_blk.nr_devices=0
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

make_cached_disk

run_postmark() {
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
    postmark "$TMPDIR/postmark" >"$E4R_RUN/postmark"
    cat "$E4R_RUN/postmark"
}

run_stream() {
    "$BIN/stream" --rate "${RATE:-16}" --seconds "${SECONDS_OF_STREAM:-60}" "$FS" >>"$E4R_RUN/figures"
}

# The tables take 1/16 of the disk. Their 16,384 requests keep the thread busy all the time.
make_lazy -b 4096 -g 8192 -i 4096
options=barrier=${BARRIER:-1}
if [ "${FOREGROUND:=postmark}" = postmark ]; then
    # Postmark itself never waits for writes. With sync, every change is on the disk before the call returns.
    options+=,sync
fi
mount -o "$options,noinit_itable" "$DISK" "$FS"
if [ "$FOREGROUND" = stream ]; then
    "$BIN/stream" --prepare 1 "$FS"
    sync
fi
mount -o "remount,${LAZY:-init_itable=10}" "$FS"
# The thread starts after up to five seconds. To keep runs comparable, also wait if there is no thread.
sleep 6
echo mono >"$TRACING/trace_clock"
: >"$TRACING/trace"
echo 1 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
flushed=$(flushes)
started=$(date +%s%N)
"run_$FOREGROUND"
ended=$(date +%s%N)
flushed=$(($(flushes) - flushed))
groups_meanwhile=$(grep -c ext4_lazy_itable_init: "$TRACING/trace" || true)
umount "$FS"
figure duration_ms $(((ended - started) / 1000000))
if [ "$FOREGROUND" = postmark ]; then
    # postmark measures in whole seconds.
    figure postmark_transactions_per_s \
        "$(awk '$3 ~ /^[0-9.]+$/ && NF > 10 { print $3 }' "$E4R_RUN/postmark")"
    # This rate covers the whole run of postmark, including the files made before and deleted after the transactions.
    figure transactions_per_s "$(awk -v n="${TRANSACTIONS:-3000}" -v ns=$((ended - started)) \
        'BEGIN { printf "%.2f", n * 1e9 / ns }')"
fi
figure flushes "$flushed"
figure groups_zeroed "$(zeroed_on_disk)"
# Records how many groups were initialized in the measured time, and what percentage of that time they took (64 requests
# each).
figure groups_meanwhile "$groups_meanwhile"
figure tables_share_percent "$(awk -v n="$groups_meanwhile" -v ns=$((ended - started)) \
    'BEGIN { printf "%.2f", 100 * n * 64e6 / ns }')"
e2fsck -fn "$DISK"
