#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests a static e4replay (tools/portable.sh) without any other files: in a root directory that has only the program,
# /proc, /sys, an empty /tmp, captures to read, and a mounted ext4 with its device node. Then tests it on this machine
# without the system calls that Linux 4.18 lacks, and with a kernel release that has no policy.
#   portable.sh E4REPLAY [COMMAND...]    COMMAND runs an e4replay for another architecture. It begins to record before a
#                                        mount, because qemu-user cannot freeze a file system
# Exit status 77 without root, loop devices or ext4 events.
set -euo pipefail
traces=$(realpath "$(dirname "$0")/../../traces")
# shellcheck source=test/record/loop.sh
source "$(dirname "$0")/loop.sh"

leave() {
    local place
    for place in data tmp sys proc; do umount --lazy "$work/root/$place" 2>/dev/null || true; done
    cleanup
}
trap leave EXIT
mkdir -p root/{proc,sys,tmp,dev,data,traces}
cp "$e4replay" root/e4replay
cp "$traces"/churn-4k-6.8.e4c root/traces/
mknod -m 600 root/dev/null c 1 3
cp -a "$loop" root/dev/
mount -t proc proc root/proc
mount --rbind /sys root/sys
mount -t tmpfs tmpfs root/tmp
mount --bind "$fs" root/data
[ "$(cd root && find . -xdev -type f | sort | xargs)" = "./e4replay ./traces/churn-4k-6.8.e4c" ] || bad "not empty"

# there ARGUMENT...: runs e4replay in the root directory described above, without an environment.
there() { env -i /usr/sbin/chroot root /e4replay "$@"; }
# recorder ARGUMENT... &: uses exec, so $! is its pid
recorder() { exec env -i /usr/sbin/chroot root /e4replay record --max-freeze 60s --no-progress "$@"; }

# like_here NAME ARGUMENT...: checks that e4replay prints the same in that root directory as on this machine. Ignores
# the root directory in paths.
like_here() {
    local name=$1
    shift
    there "$@" >there.out 2>&1 || bad "$name: status $?: $(cat there.out)"
    env -i "$e4replay" "${@/#\//root/}" 2>&1 | sed 's#root/#/#g' >here.out
    grep -v '^time, s' there.out >there.same
    grep -v '^time, s' here.out | diff -u there.same - || bad "$name: prints something else here"
    [ "$(wc -l <there.same)" -gt 3 ] || bad "$name: $(cat there.out)"
    ok "$name in an empty root"
}
like_here replay replay /traces/churn-4k-6.8.e4c -p legacy,cr1.5 --no-progress
like_here verify verify /traces/churn-4k-6.8.e4c --no-progress
like_here info info /traces/churn-4k-6.8.e4c
like_here freefrag freefrag /traces/churn-4k-6.8.e4c
like_here map map /traces/churn-4k-6.8.e4c
like_here policies policies

# says STATUS WORDS ARGUMENT...: checks that e4replay fails with that status, and with one line that contains WORDS.
says() {
    local wanted=$1 words=$2 status=0
    shift 2
    there "$@" >there.out 2>&1 || status=$?
    if [ $status != "$wanted" ] || [ "$(wc -l <there.out)" != 1 ] || ! grep -q -- "$words" there.out; then
        bad "$*: status $status: $(cat there.out)"
    fi
    ok "$words"
}
touch root/tmp/roomy.so
says 2 "built without shared libraries" replay /traces/churn-4k-6.8.e4c -p /tmp/roomy.so
says 1 "built without NLopt" hunt --base legacy --with cr1.5 -o /tmp/worst.e4c
says 1 "built without protobuf" replay /traces/churn-4k-6.8.e4c --perfetto /tmp/trace
there --version | grep -q '^without .*policies from files' || bad "--version: $(there --version)"
ok "--version says what it lacks"

# recorded NAME FILE: checks that verify agrees with the recording, if a policy models this kernel.
recorded() {
    if "$e4replay" verify "$2" --no-progress 2>&1 | grep -q 'no policy here decides like'; then
        ok "$1, on a kernel without a policy"
    else
        [ "$(percent "$2")" -ge 99 ] || bad "$1: $(percent "$2") % identical"
        ok "$1, $(percent "$2") % identical"
    fi
}
./busy "$fs" 1000 100
recorder /data -o /tmp/run.e4c --for 100s 2>record.out &
recorder=$!
for ((i = 0; i < 600; i++)); do
    if grep -qs 1 $tracing/instances/e4replay-*-"${loop#/dev/}"/tracing_on; then break; fi
    sleep 0.1
done
./busy "$fs" 2000 150
kill -INT $recorder
wait $recorder || bad "record: status $?: $(cat record.out)"
as_before
there info /tmp/run.e4c >info.out
grep -q "$(uname -r)" info.out || bad "info: $(cat info.out)"
recorded "record in an empty root" root/tmp/run.e4c
there freefrag /dev/"${loop#/dev/}" >freefrag.out 2>&1 || bad "freefrag of a device: $(cat freefrag.out)"
ok "freefrag of the device"
there watch /data --once --max-freeze 60s >watch.out 2>&1 || grep -q 'no policy here decides like' watch.out ||
    bad "watch: $(cat watch.out)"
as_before
ok "watch --once in an empty root: $(tail -n 1 watch.out)"

# These system calls are newer than 4.18. strace makes them fail as on a kernel that does not have them.
newer=clone3,close_range,epoll_pwait2,faccessat2,fsconfig,fsmount,fsopen,fspick,futex_waitv,io_uring_enter
newer+=,io_uring_register,io_uring_setup,landlock_create_ruleset,memfd_secret,mount_setattr,move_mount,open_tree
newer+=,openat2,pidfd_getfd,pidfd_open,pidfd_send_signal,process_madvise,process_mrelease,quotactl_fd
older() { strace -f -qq -e trace="$newer" -e signal=none -e inject="$newer":error=ENOSYS -o strace.out "$e4replay" "$@"; }
older record "$fs" -o older.e4c --max-freeze 60s --no-progress -- ./busy "$fs" 4000 60 2>older.out ||
    bad "record without newer system calls: $(cat older.out)"
as_before
grep -q '^[0-9]* *close_range(.*(INJECTED)' strace.out || bad "the kernel's own close_range() was used"
older replay older.e4c -p legacy --no-progress >older.out 2>&1 || bad "replay: $(cat older.out)"
older freefrag older.e4c >older.out 2>&1 || bad "freefrag: $(cat older.out)"
ok "record, replay and freefrag without system calls newer than 4.18"

# Test with a kernel release that is unknown.
unknown=$(setarch --uname-2.6 uname -r)
setarch --uname-2.6 "$e4replay" record "$fs" -o unknown.e4c --max-freeze 60s --no-progress -- \
    ./busy "$fs" 5000 60 2>unknown.out || bad "record on $unknown: $(cat unknown.out)"
as_before
"$e4replay" info unknown.e4c >info.out 2>&1
grep -q "Linux $unknown\|$unknown" info.out || bad "info: $(cat info.out)"
"$e4replay" replay unknown.e4c -p cr1.5 --no-progress >unknown.out 2>&1 || bad "replay: $(cat unknown.out)"
ok "record on $unknown, which no policy decides like"

shift
if [ $# -gt 0 ]; then
    umount root/data "$fs"
    "$@" record "$loop" -o other.e4c --no-progress --for 600s 2>other.out &
    recorder=$!
    wait_for_tracing $recorder
    mount "$loop" "$fs"
    ./busy "$fs" 6000 60
    kill -INT $recorder
    wait $recorder || bad "$*: status $?: $(cat other.out)"
    as_before
    recorded "record for another machine" other.e4c
fi
echo "portable.sh: $passed checks passed"
