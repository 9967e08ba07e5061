# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: after an error, no more groups are initialized and the state is idle, with and without a journal, even if
# initialization was paused. If a group could not be written, it is not counted, its trace event has the error, and a
# remount initializes it.
# image: plain-1g
# timeout: 300
# expected: EXT4-fs error \(device [a-z0-9-]+\): trigger_test_error:[0-9]+: comm [^:]*: provoked
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

provoke() {
    echo provoked >"$(knobs)/trigger_fs_error"
}

# e2fsck must clear the error flag and the journal, and must find nothing else.
repair() {
    local status=0
    umount "$FS"
    e2fsck -fp "$DISK" || status=$?
    expect_that "e2fsck -fp" $status -le 1
    e2fsck -fn "$DISK"
}

if_paused() {
    say "paused, then an error"
    set_lazy state pause
    mount -o remount,init_itable=10 "$FS"
    expect "state" "$(lazy_state)" "paused 0 $groups"
    provoke
    expect "state after an error" "$(lazy_state)" "idle 0 $groups"
    set_lazy state resume
    sleep 6
    expect "state after resume" "$(lazy_state)" "idle 0 $groups"
    wait_until 1 no_thread
}
make_lazy -b 1024
mount -o noinit_itable,errors=remount-ro "$DISK" "$FS"
if has_lazy state; then if_paused; fi
repair
expect "groups marked" "$(zeroed_on_disk)" 0

say "at work, then an error"
for journal in has_journal ^has_journal; do
    make_lazy -b 1024 -O "$journal"
    mount -o init_itable=200,errors=remount-ro "$DISK" "$FS"
    wait_until 60 at_least 3
    expect "state" "$(lazy state)" running
    provoke
    before=$(lazy_state)
    if has_lazy state; then expect "state with $journal after an error" "${before%% *}" idle; fi
    set_lazy wait_mult 0
    wait_until 2 no_thread
    # When the error occurred, the thread may have been working on one more group.
    expect_that "groups done" "$(lazy "done")" -le $(($(echo "$before" | cut -d' ' -f2) + 1))
    expect_that "groups left" "$(lazy left)" -ge 100
    repair
done

say "an error that does not stop the file system does not stop this"
make_lazy -b 1024
mount -o init_itable=100,errors=continue "$DISK" "$FS"
wait_until 60 at_least 2
provoke
expect "state" "$(lazy state)" running
set_lazy wait_mult 0
wait_until 60 all_done
repair
expect "groups marked" "$(zeroed_on_disk)" "$groups"

# Returns whether the thread has stopped, because of an error or because all groups are done.
stopped() {
    if has_lazy state; then state_is idle; else no_thread; fi
}

say "a table that cannot be written"
counted=1
make_lazy -b 1024
sectors=$(blockdev --getsz "$DISK")
below=$DISK
read -r bad first last <<<"$(unused_tables | awk '$1 >= 5 && !n++')"
start=$((first * 2)) length=$(((last - first + 1) * 2))
dmsetup create broken <<TEXT
0 $start linear $below 0
$start $length error
$((start + length)) $((sectors - start - length)) linear $below $((start + length))
TEXT
DISK=/dev/dm-0
for probe in 0 2; do
    if [ $probe != 0 ] && [ $counted = 0 ]; then break; fi
    : >"$TRACING/trace"
    echo 1 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
    mount -o noinit_itable "$DISK" "$FS"
    counted=0
    if has_lazy probe; then counted=1 && set_lazy probe $probe; fi
    before=$(lazy "done")
    mount -o remount,init_itable=0 "$FS"
    wait_until 30 stopped
    echo 0 >"$TRACING/events/ext4/ext4_lazy_itable_init/enable"
    expect "groups done before it" "$(lazy "done")" "$bad"
    if [ $counted = 1 ]; then
        expect "groups counted" $(($(lazy zeroed) + $(lazy skipped))) $((bad - before))
        expect "what is traced of it" "$(sed -n "s/.*ext4_lazy_itable_init: .* group $bad .* \(skipped .*\)/\1/p" \
            "$TRACING/trace")" "skipped 0 ret -5"
        expect "others traced" "$(grep -c ' ret 0$' "$TRACING/trace" || true)" $((bad - before))
    fi
    umount "$FS"
    expect "groups marked" "$(zeroed_on_disk)" "$bad"
done
mount -o init_itable=0 "$DISK" "$FS"
wait_until 30 stopped
dmsetup reload broken --table "0 $sectors linear $below 0"
dmsetup resume broken
mount -o remount,init_itable=0 "$FS"
wait_until 30 all_done
check_finished
dmsetup remove broken
