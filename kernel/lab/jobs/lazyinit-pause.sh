# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: remounts and a freeze do not end a pause, a pause does not delay unmount, and resume finishes the work.
# base: 6.1
# image: plain-1g
# timeout: 300
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"

# A pause takes effect after the current group.
expect_paused() {
    sleep 0.5
    local before
    before=$(lazy_state)
    sleep "$1"
    expect "state while paused" "$(lazy_state)" "$before"
    expect "word for it" "${before%% *}" paused
}

make_lazy -b 1024
# The thread starts after a random delay, which may be zero. So set the pause before the remount that starts it.
mount -o noinit_itable "$DISK" "$FS"
set_lazy state pause
mount -o remount,init_itable=10 "$FS"
if set_lazy state maybe 2>/dev/null; then
    say "state took nonsense"
    false
fi
# Wait for longer than the random start delay of up to five seconds.
expect_paused 7
expect "groups done before the pause" "$(lazy "done")" 0
mount -o remount,ro "$FS"
expect "state when read-only" "$(lazy_state)" "idle 0 $groups"
mount -o remount,rw "$FS"
expect_paused 6
mount -o remount,noinit_itable "$FS"
expect "state when told not to" "$(lazy_state)" "idle 0 $groups"
mount -o remount,init_itable=10 "$FS"
expect_paused 6
unmount_quickly

# A pause does not outlive the mount. Pause again half-way.
mount -o init_itable=100 "$DISK" "$FS"
wait_until 60 at_least 3
expect "state after mount" "$(lazy state)" running
set_lazy state pause
expect_paused 4
"$BIN/churn" --ops 100 --files 20 --max-size 64K --mix basic --manifest "$E4R_RUN/manifest" "$FS" \
    >/dev/null
fsfreeze -f "$FS"
set_lazy state resume
sleep 1
set_lazy state pause
fsfreeze -u "$FS"
expect_paused 2
set_lazy wait_mult 0
expect_paused 2
set_lazy state resume
wait_until 60 all_done
wait_until 2 state_is idle
expect "state at the end" "$(lazy_state)" "idle $groups 0"
set_lazy state pause
expect "state with nothing to pause" "$(lazy_state)" "idle $groups 0"
umount "$FS"
mount "$DISK" "$FS"
"$BIN/churn" --check "$E4R_RUN/manifest" "$FS" >/dev/null
check_finished
