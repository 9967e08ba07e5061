# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, with the script's arguments, by scripts that record on this machine's own kernel. Sets e4replay, work (the
# working directory), fs (a mounted ext4 of 1 GiB), loop (its device) and tracing. Exits with status 77 without root,
# loop devices or ext4 events. The mounts exist only in the script's namespace, and disappear when it ends.
skip() { echo "${0##*/}: $*" >&2 && exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
if [ -z "${E4R_OWN_MOUNTS:-}" ]; then
    # The new namespace has copies of all mounts. So take this lock, which waits until other tests have unmounted what
    # they mounted (MountsLock in test/lazyinit/mount.h).
    exec 9>>"${TMPDIR:-/tmp}/e4r-test-mounts"
    flock 9
    unshare --mount true 2>/dev/null || skip "cannot have mounts of its own"
    E4R_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$@"
fi
exec 9>&- # releases the lock
e4replay=$(realpath "$1")
tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs nodev $tracing 2>/dev/null || skip "no tracefs"
modprobe ext4 2>/dev/null || true
[ -d $tracing/events/ext4/ext4_mballoc_alloc ] || skip "this kernel has no events of ext4"

# Remove what killed recorders have left. If they used the same loop device, this test would take it for its own.
"$e4replay" record --clean >/dev/null 2>&1 || true

work=$(mktemp -d)
fs=$work/fs
loops=()
cleanup() {
    # shellcheck disable=SC2046 # word splitting is intended
    kill $(jobs -p) 2>/dev/null || true
    sleep 0.1
    cd /
    fsfreeze --unfreeze "$fs" 2>/dev/null || true
    "$e4replay" record --clean >/dev/null 2>&1 || true
    for directory in "$work"/*/; do umount --lazy "$directory" 2>/dev/null || true; done
    for device in "${loops[@]}"; do losetup -d "$device" 2>/dev/null || true; done
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 143' TERM HUP
# attach FILE SIZE: makes an ext4 in FILE and sets `attached` to its loop device.
attach() {
    truncate -s "$2" "$1"
    mke2fs -q -t ext4 -E lazy_itable_init=0 "$1"
    attached=$(losetup --find --show "$1") || skip "no loop device"
    loops+=("$attached")
}
mkdir "$fs"
attach "$work/disk" 1G
loop=$attached
mount "$loop" "$fs" || skip "cannot mount ext4"
cd "$work" || exit 1

passed=0
ok() { passed=$((passed + 1)) && echo "ok: $*"; }
bad() { echo "${0##*/}: $*" >&2 && exit 1; }

# takes_writes DIRECTORY SECONDS: whether a write succeeds within that time. Does not wait for the writer any longer,
# because nothing can end a program that waits for a frozen file system.
takes_writes() {
    local i toucher
    touch "$1/touched" &
    toucher=$!
    for ((i = 0; i < $2 * 20; i++)); do
        if ! kill -0 $toucher 2>/dev/null; then wait $toucher && return; fi
        sleep 0.05
    done
    return 1
}

# as_before [DEVICE DIRECTORY]: checks that recorders of the device have left nothing in the kernel, and that the file
# system accepts writes.
# shellcheck disable=SC2120
as_before() {
    local device=${1:-$loop} directory=${2:-$fs} left
    left=$(find $tracing/instances -mindepth 1 -maxdepth 1 -name "e4replay-*-${device#/dev/}" -printf '%f ' \
        -o -name "e4replay-*-${device#/dev/}+mb_stats" -printf '%f ')
    [ -z "$left" ] || bad "left in tracefs: $left"
    mountpoint -q "$directory" || return 0
    [ "$(cat "/sys/fs/ext4/${device#/dev/}/mb_stats")" = 0 ] || bad "mb_stats is still on"
    findmnt -no OPTIONS "$directory" | grep -q '^ro' || takes_writes "$directory" 300 ||
        bad "the file system is frozen"
}
# refused MESSAGE COMMAND...: fails unless the command exits with status 1, prints one line with MESSAGE, and leaves no
# file.
refused() {
    local message=$1 status=0
    shift
    "$@" >refused.out 2>&1 || status=$?
    [ $status = 1 ] || bad "status $status instead of 1: $*: $(cat refused.out)"
    [ "$(wc -l <refused.out)" = 1 ] || bad "not one line: $(cat refused.out)"
    grep -q -- "$message" refused.out || bad "not '$message': $(cat refused.out)"
    [ ! -e none.e4c ] || bad "a file was left by $*"
    as_before
    ok "$message"
}

# wait_for_tracing PID: waits until the recorder PID has started to trace.
wait_for_tracing() {
    local i
    for ((i = 0; i < 600; i++)); do
        if [ "$(cat $tracing/instances/e4replay-"$1"-*/tracing_on 2>/dev/null)" = 1 ]; then return; fi
        sleep 0.1
    done
    bad "recorder $1 has not begun after a minute"
}

# Permits long freezes, because the machine may be busy.
record() { "$e4replay" record --max-freeze 60s "$@"; }
# recorder OPTIONS... &: uses exec, so $! is the recorder's pid
recorder() { exec "$e4replay" record --max-freeze 60s "$@"; }
cat >busy <<'BUSY'
#!/bin/bash
# busy DIRECTORY FIRST COUNT: writes files of 1 to 300 KiB and removes some of them
for ((i = $2; i < $2 + $3; i++)); do
    head -c $(((i * 7919 % 300 + 1) * 1024)) /dev/zero >"$1/f$i"
    if ((i % 5 == 4)); then rm "$1/f$((i - 2))"; fi
    if ((i % 40 == 39)); then sync "$1/f$i"; fi
done
sync -f "$1"
BUSY
chmod +x busy

# choose_policy: sets `policy` to the policy of this kernel, or exits with status 77 if there is none.
# shellcheck disable=SC2034
choose_policy() {
    case $(uname -r) in
    6.1.*) policy=linux-6.1 ;;
    6.12.*) policy=linux-6.12 ;;
    6.1[78].* | 6.19.* | 7.*) policy=linux-7.3 ;;
    *) skip "no policy is known for $(uname -r)" ;;
    esac
}

# percent FILE: prints the percentage of decisions that verify finds identical.
percent() {
    "$e4replay" verify "$1" --no-progress --json - >verify.json 2>verify.err || [ $? = 3 ] ||
        bad "verify: $(cat verify.err)"
    sed -n 's/^ *"percent_identical": \([0-9]*\).*/\1/p' verify.json | head -1
}
