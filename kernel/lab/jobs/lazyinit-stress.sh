# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: while files are made, the job changes knobs, and remounts, freezes and unmounts the file system at random
# moments. ROUNDS is the number of rounds, RUN_SEED the seed. The debug variant finds wrong locking.
# image: plain-1g
# timeout: 900
# shellcheck source=kernel/lab/guest/lazyinit.sh
. "$LAB/guest/lazyinit.sh"
RANDOM=${RUN_SEED:-1}

turn_knobs() {
    local i
    RANDOM=$1
    for ((i = 0; i < 60; ++i)); do
        case $((RANDOM % 5)) in
        0) set_lazy state pause ;;
        1) set_lazy state resume ;;
        2) set_lazy wait_mult $((RANDOM % 20)) ;;
        3) set_lazy wait_mult 0 ;;
        4) lazy state >/dev/null ;;
        esac 2>/dev/null || true # the file system may be unmounted by now
        if [ -e "$(knobs)/lazyinit_probe" ]; then
            set_lazy probe $((RANDOM % 3)) 2>/dev/null || true
        fi
    done
}

for ((round = 1; round <= ${ROUNDS:-6}; ++round)); do
    make_lazy -b 1024 -g $((1024 << (RANDOM % 3)))
    mount -o "init_itable=$((RANDOM % 3))" "$DISK" "$FS"
    turn_knobs "$RANDOM" &
    knobs_pid=$!
    "$BIN/churn" --ops 60 --files 20 --max-size 64K --mix basic --seed "$round" \
        --manifest "$E4R_RUN/manifest" "$FS" >/dev/null &
    churn_pid=$!
    sleep "$((RANDOM % 5)).$((RANDOM % 10))"
    mount -o remount,noinit_itable "$FS"
    mount -o remount,init_itable=$((RANDOM % 5)) "$FS"
    fsfreeze -f "$FS" && fsfreeze -u "$FS"
    wait "$churn_pid"
    if [ $((RANDOM % 2)) = 0 ]; then
        mount -o remount,ro "$FS"
        mount -o remount,rw "$FS"
    fi
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    umount "$FS"
    wait "$knobs_pid"
    e2fsck -fn "$DISK" >"$E4R_RUN/e2fsck" 2>&1 || { cat "$E4R_RUN/e2fsck" && false; }
    partly=$(zeroed_on_disk)
    say "round $round: $partly of $groups"
    mount -o init_itable=0 "$DISK" "$FS"
    "$BIN/churn" --check "$E4R_RUN/manifest" "$FS" >/dev/null
    wait_until 60 all_done
    check_finished >"$E4R_RUN/e2fsck" 2>&1 || { cat "$E4R_RUN/e2fsck" && false; }
done
