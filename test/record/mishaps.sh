#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests `e4replay record` in bad situations: another recorder, a slow or killed freeze, every signal, commands that
# damage the file system or the output, and a machine without tracefs or /proc. Afterwards the machine must always be in
# its earlier state, if necessary after `record --clean`.
#   mishaps.sh E4REPLAY
# Exit status 77 without root, loop devices or ext4 events.
set -euo pipefail
# shellcheck source=test/record/loop.sh
source "$(dirname "$0")/loop.sh"
./busy "$fs" 1000 60

# Two recorders record two file systems.
mkdir other
attach "$work/other-disk" 300M
other=$attached
mount "$other" other
recorder "$fs" -o one.e4c --no-progress --for 600s 2>one.out &
one=$!
recorder other -o two.e4c --no-progress --for 600s 2>two.out &
two=$!
wait_for_tracing $one
wait_for_tracing $two
"$e4replay" record --clean >clean.out
grep -q "$one\|$two" clean.out && bad "--clean takes a recorder for gone: $(cat clean.out)"
./busy "$fs" 2000 60 &
./busy other 1 60
wait $!
kill -INT $one $two
wait $one || bad "the first of two: status $?: $(cat one.out)"
wait $two || bad "the second of two: status $?: $(cat two.out)"
as_before
as_before "$other" other
[ "$(percent one.e4c)" -ge 99 ] || bad "the first of two: $(percent one.e4c) % identical"
[ "$(percent two.e4c)" -ge 99 ] || bad "the second of two: $(percent two.e4c) % identical"
ok "two file systems at once, $(percent one.e4c) and $(percent two.e4c) % identical"

# Two recorders record the same file system. mb_stats must stay switched on as long as one of them runs.
recorder "$fs" -o first.e4c --no-progress --for 600s 2>first.out &
one=$!
wait_for_tracing $one
recorder "$fs" -o second.e4c --no-progress --for 600s 2>second.out &
two=$!
wait_for_tracing $two
kill -INT $one
wait $one || bad "status $?: $(cat first.out)"
[ "$(cat "/sys/fs/ext4/${loop#/dev/}/mb_stats")" = 1 ] || bad "the first one switched mb_stats off"
kill -INT $two
wait $two || bad "status $?: $(cat second.out)"
as_before
ok "one file system twice at once"

# Delay an ioctl, so that a freeze takes longer than allowed. FIFREEZE is the guard's first ioctl on the mount point,
# and FITHAW is the recorder's first. delayed OPTIONS...: runs a recorder with --max-freeze $allowed under strace
# OPTIONS. Sets `tracer`.
delayed() {
    rm -f none.e4c
    strace -qq -o strace.out "$@" -P "$fs" -e trace=ioctl \
        "$e4replay" record "$fs" -o none.e4c --no-progress --for 600s --max-freeze "$allowed" 2>delayed.out &
    tracer=$!
}
# the_recorder: waits until recorder and guard exist; sets `recorder` and `guard`.
the_recorder() {
    local i
    for ((i = 0; i < 600; i++)); do
        recorder=$(pgrep -P $tracer || true)
        guard=$([ -z "$recorder" ] || pgrep -P "$recorder" || true)
        if [ -n "$guard" ]; then return; fi
        sleep 0.05
    done
    bad "no guard after half a minute: $(cat delayed.out)"
}
# Waits until the guard has called the ioctl FIFREEZE, which strace delays.
wait_until_freezing() {
    local i
    for ((i = 0; i < 600; i++)); do
        if grep -qi ' 0xc0045877 ' "/proc/$guard/syscall"; then return; fi
        sleep 0.05
    done
    bad "no freeze after half a minute: $(cat delayed.out)"
}
# Waits until the file system is frozen and the guard waits for the recorder. A blocked write would not prove that the
# file system is frozen, because a slow file system also blocks writes.
wait_until_frozen() {
    local i
    for ((i = 0; i < 600; i++)); do
        if grep -q poll "/proc/$guard/wchan"; then return; fi
        sleep 0.05
    done
    bad "not frozen after half a minute: $(cat delayed.out)"
}
if strace -qq -o /dev/null -e inject=ioctl:delay_enter=1:when=1 true 2>/dev/null; then
    allowed=300ms
    delayed -f -e inject=ioctl:delay_enter=900000:when=1
    wait $tracer && bad "a freeze of 0.9 s passes for one of 0.3 s"
    grep -q 'writers waited .* 0.300 s are allowed' delayed.out || bad "$(cat delayed.out)"
    grep -q FIFREEZE strace.out || bad "nothing was delayed: $(cat strace.out)"
    [ ! -e none.e4c ] || bad "a file was left"
    as_before
    ok "a flush that takes longer than --max-freeze is refused"

    # The recorder is killed before the guard has frozen anything.
    delayed -f -e inject=ioctl:delay_enter=2000000:when=1
    the_recorder
    wait_until_freezing
    kill -9 "$recorder"
    wait $tracer 2>/dev/null || true
    grep -q FIFREEZE strace.out || bad "killed too early: $(cat strace.out)"
    "$e4replay" record --clean >/dev/null
    as_before
    ok "killed while the flush takes its time: thawed"

    # The recorder is killed after the freeze, before it thaws.
    allowed=60s
    delayed -e inject=ioctl:delay_enter=60000000:when=1
    the_recorder
    wait_until_frozen
    kill -9 "$recorder"
    wait $tracer 2>/dev/null || true
    "$e4replay" record --clean >/dev/null
    as_before
    ok "killed while it reads: thawed"

    # Recorder and guard are killed together, so only --clean can thaw.
    rm -f none.e4c
    delayed -e inject=ioctl:delay_enter=60000000:when=1
    the_recorder
    wait_until_frozen
    kill -9 "$guard" "$recorder"
    wait $tracer 2>/dev/null || true
    rm -f none.e4c
    ! takes_writes "$fs" 2 || bad "who has thawed it?"
    status=0
    record "$fs" -o none.e4c --no-progress --for 1s 2>frozen.out || status=$?
    [ $status = 1 ] && grep -q 'record --clean' frozen.out || bad "status $status: $(cat frozen.out)"
    "$e4replay" record --clean >clean.out
    grep -q "^thawed $fs " clean.out || bad "--clean: $(cat clean.out)"
    as_before
    ok "--clean thaws what a recorder and its guard have left frozen"

    # Kill the recorder once at each system call of the freeze.
    for ((n = 1; n < 40; n++)); do
        rm -f dead.e4c
        status=0
        calls=syncfs,socketpair,clone,clone3,fork,vfork,poll,recvfrom,ioctl,sendto,wait4
        strace -qq -o strace.out -e trace=$calls -e inject=$calls:signal=KILL:when=$n \
            "$e4replay" record --max-freeze 60s "$fs" -o dead.e4c --no-progress -- true 2>dead.out || status=$?
        takes_writes "$fs" 300 || bad "frozen after the recorder was killed at: $(tail -1 strace.out)"
        [ $status != 0 ] || break
        "$e4replay" record --clean >/dev/null
        as_before
    done
    [ $n -gt 5 ] || bad "killed at $n calls only"
    ok "killed at each of $n calls around the freeze: thawed"

    # The guard is killed before it freezes.
    allowed=60s
    delayed -f -e inject=ioctl:signal=KILL:when=1
    wait $tracer && bad "recorded without a guard"
    grep -q 'was killed: record again' delayed.out || grep -q 'SIGKILL' strace.out || bad "$(cat delayed.out)"
    rm -f none.e4c
    "$e4replay" record --clean >/dev/null
    as_before
    ok "a guard that is killed is said"
else
    echo "not tried: delayed and killed freezes (needs strace)"
fi

# A recording must either keep the freeze within its limit or fail.
for limit in 1ms 2ms 5ms 20ms; do
    rm -f limit.e4c
    status=0
    "$e4replay" record "$fs" -o limit.e4c --no-progress --max-freeze $limit -- ./busy "$fs" 4000 5 \
        2>limit.out || status=$?
    if [ $status = 0 ]; then
        waited=$(sed -n 's/.*writers waited 0\.\([0-9]*\) s.*/\1/p' limit.out)
        [ $((10#$waited)) -le "${limit%ms}" ] || bad "--max-freeze $limit: $(cat limit.out)"
    else
        [ ! -e limit.e4c ] || bad "a file was left"
        grep -q 'are allowed: allow more with --max-freeze' limit.out || bad "$(cat limit.out)"
    fi
    as_before
done
ok "--max-freeze is kept, or nothing is recorded"

# A zombie does not count as a living recorder.
cat >parent <<'PARENT'
#!/bin/bash
"$1" record --max-freeze 60s "$2" -o zombie.e4c --no-progress --for 600s 2>/dev/null &
echo $! >zombie.pid
exec sleep 600
PARENT
chmod +x parent
rm -f zombie.pid
./parent "$e4replay" "$fs" &
parent=$!
for ((i = 0; i < 600; i++)); do if [ -s zombie.pid ]; then break; fi; sleep 0.05; done
zombie=$(cat zombie.pid)
wait_for_tracing "$zombie"
kill -9 "$zombie"
for ((i = 0; i < 600; i++)); do if grep -q '^State:.Z' "/proc/$zombie/status"; then break; fi; sleep 0.05; done
"$e4replay" record --clean >clean.out
grep -q "$zombie" clean.out || bad "--clean takes a zombie for alive: $(cat clean.out)"
kill $parent
wait $parent 2>/dev/null || true
as_before
ok "--clean takes a zombie for dead"

# Every signal that ends a program must end the recording properly.
for signal in HUP INT QUIT ABRT USR1 USR2 SEGV BUS ALRM TERM STKFLT XCPU XFSZ VTALRM PROF IO PWR SYS RTMIN RTMAX; do
    rm -f signal.e4c
    recorder "$fs" -o signal.e4c --no-progress --for 600s 2>signal.out &
    recorder=$!
    wait_for_tracing $recorder
    kill -$signal $recorder
    wait $recorder || bad "SIG$signal: status $?: $(cat signal.out)"
    as_before
    "$e4replay" info signal.e4c | grep -q interrupted || bad "SIG$signal: no end in the file"
done
ok "twenty signals end a recording as a person would"
for ((i = 0; i < 12; i++)); do
    rm -f signal.e4c
    recorder "$fs" -o signal.e4c --no-progress --for 600s 2>signal.out &
    recorder=$!
    sleep "0.$(printf %03d $((i * i * 2 + 5)))"
    kill -QUIT $recorder
    wait $recorder || true
    as_before
done
ok "SIGQUIT at the start leaves nothing"

# A file that reaches its size limit counts as a full disk.
status=0
(
    ulimit -S -f 8
    # shellcheck disable=SC2016
    record "$fs" -o big.e4c --no-progress -- sh -c 'ulimit -S -f unlimited && exec ./busy "$1" 5000 400' - "$fs" 2>big.out
) || status=$?
if [ $status != 1 ] || ! grep -q 'File too large' big.out; then bad "status $status: $(cat big.out)"; fi
as_before
ok "a file that may not grow is an error"

# meanwhile MESSAGE COMMAND...: records while the command changes the file system. Recorder and capture must both
# contain MESSAGE.
meanwhile() {
    local message=$1
    shift
    rm -f meanwhile.e4c
    record "$fs" -o meanwhile.e4c --no-progress -- "$@" 2>meanwhile.out || bad "$message: $(cat meanwhile.out)"
    grep -q "warning: $fs: $message" meanwhile.out || bad "not '$message': $(cat meanwhile.out)"
    "$e4replay" info meanwhile.e4c 2>&1 >/dev/null | grep -q "the file system $message" ||
        bad "info is silent of '$message'"
    mountpoint -q "$fs" || mount "$loop" "$fs"
    as_before
    ok "$message"
}
record "$fs" -o quiet.e4c --no-progress -- ./busy "$fs" 6000 20 2>quiet.out
if grep -q warning quiet.out; then bad "$(cat quiet.out)"; fi
meanwhile 'was remounted: .*+commit=17' mount -o remount,commit=17 "$fs"
mount -o remount,commit=5 "$fs"
meanwhile 'was unmounted' umount "$fs"
meanwhile 'was unmounted and mounted again' sh -c 'umount "$1" && mount "$2" "$1"' - "$fs" "$loop"
meanwhile 'was made again' sh -c 'sleep 1.1; umount "$1" && mke2fs -q -F -t ext4 -E lazy_itable_init=0 "$2" 700M' - "$fs" "$loop"

# lost MESSAGE COMMAND...: records while the command damages the output. The recorder must end with status 1 and print
# MESSAGE.
lost() {
    local message=$1 status=0
    shift
    rm -f lost.e4c
    record "$fs" -o lost.e4c --no-progress -- "$@" 2>lost.out || status=$?
    if [ $status != 1 ] || ! grep -q "lost.e4c: $message" lost.out; then bad "status $status: $(cat lost.out)"; fi
    as_before
    ok "$message"
}
lost 'was removed' rm lost.e4c
lost 'was renamed .*: it is .*/found.e4c' mv lost.e4c found.e4c
lost 'was truncated' truncate -s 100 lost.e4c
lost 'was truncated' sh -c ': >lost.e4c; ./busy "$1" 7000 200; sleep 2' - "$fs"

# The output is on the recorded file system, but indirectly: through a loop device, or through an overlay.
mkdir inner "$fs/upper" "$fs/work" lower merged
attach "$fs/inner-disk" 60M
mount "$attached" inner
refused 'by way of a loop device' record "$fs" -o inner/none.e4c --for 1s
[ ! -e inner/none.e4c ] || bad "a file was left"
umount inner
if mount -t overlay none -o "lowerdir=$work/lower,upperdir=$fs/upper,workdir=$fs/work" merged 2>/dev/null; then
    refused 'by way of a loop device or an overlay' record "$fs" -o merged/none.e4c --for 1s
    [ ! -e merged/none.e4c ] || bad "a file was left"
    umount merged
else
    echo "not tried: an output on an overlay (needs one)"
fi

# If no tracefs is mounted, the recorder mounts one that only it can see.
# shellcheck disable=SC2016
unshare --mount sh -c 'umount --all --types tracefs && "$@" && ! grep -q " - tracefs " /proc/self/mountinfo' - \
    "$e4replay" record --max-freeze 60s "$fs" -o alone.e4c --no-progress -- ./busy "$fs" 8000 40 2>alone.out ||
    bad "without tracefs: $(cat alone.out)"
[ "$(percent alone.e4c)" -ge 99 ] || bad "without tracefs: $(percent alone.e4c) % identical"
as_before
ok "without tracefs being mounted, $(percent alone.e4c) % identical, and it is not mounted then"
# shellcheck disable=SC2016
refused '/proc/self/mountinfo: .*recording needs /proc' unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' - \
    "$e4replay" record "$fs" -o none.e4c --for 1s

# These commands cannot be run.
echo "no program" >text
refused 'is not executable' record "$fs" -o none.e4c -- ./text
refused 'is a directory' record "$fs" -o none.e4c -- ./fs
refused 'no such program in PATH' record "$fs" -o none.e4c -- no-such-program-anywhere
chmod +x text
refused 'Exec format error' record "$fs" -o none.e4c --no-progress -- ./text
status=0
record "$fs" -o none.e4c --for "" 2>refused.out || status=$?
if [ $status != 2 ] || ! grep -q "'' is not a time" refused.out; then bad "--for '': status $status: $(cat refused.out)"; fi
as_before
ok "--for '' is not a time"
echo "mishaps.sh: $passed checks passed on Linux $(uname -r)"
