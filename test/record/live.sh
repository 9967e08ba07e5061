#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests `e4replay record` on this machine's own kernel, with ext4 in a loop device. Verifies the
# recordings, and checks that every recorder leaves the machine as it was.
#   live.sh E4REPLAY
# Exit status 77 without root, loop devices or ext4 events.
set -euo pipefail
# shellcheck source=test/record/loop.sh
source "$(dirname "$0")/loop.sh"
./busy "$fs" 1000 150

record "$fs" -o mounted.e4c --no-progress -- ./busy "$fs" 2000 150 2>record.out
grep -q "none\|writers waited" record.out || bad "$(cat record.out)"
as_before
[ "$(percent mounted.e4c)" -ge 99 ] || bad "mounted: $(percent mounted.e4c) % identical"
ok "a mounted file system, $(percent mounted.e4c) % identical"

# The preallocations that are read from memory must explain mb_groups.
if grep -q 'must be deduced' record.out; then
    echo "not tried: preallocations in memory: $(grep -o 'deduced: .*' record.out)"
else
    "$e4replay" verify mounted.e4c --json - --no-progress 2>/dev/null >verified.json || [ $? = 3 ]
    python3 - verified.json <<'END' || bad "preallocations in memory: $("$e4replay" verify mounted.e4c | grep ^start)"
import json, sys
warm = json.load(open(sys.argv[1]))["warm_start"]
sys.exit(not (warm["preallocations"] > 0 and warm["clusters_read_from_memory"] > 0
              and warm["clusters_found_by_counters"] == warm["clusters_not_found"] == 0))
END
    ok "preallocations read from memory explain mb_groups"
fi
"$e4replay" replay mounted.e4c -p legacy,cr1.5 --no-progress >replay.out 2>&1 ||
    bad "replay: $(cat replay.out)"
ok "and a replay answers"
"$e4replay" freefrag mounted.e4c --extract-image start.img | tail -n +2 >ours
e2freefrag start.img | tail -n +2 | cmp - ours || bad "e2freefrag sees another image"
e2fsck -fn start.img >/dev/null 2>&1 && bad "an image without inodes cannot be whole"
ok "e2freefrag reads the image alike"

"$e4replay" trace info mounted.e4c >info.out
if grep -E '^  - (no |neither |preallocations |blocks are freed)' info.out; then
    bad "trace info misses what has not happened"
fi
ok "trace info misses nothing in it"

# Trim before the recording begins, because FITRIM skips groups that it has already trimmed.
fstrim "$fs"
record "$fs" -o trimmed.e4c --no-progress -- \
    sh -c 'fstrim "$1" && ./busy "$1" 3000 60 && fstrim "$1" && fstrim -m 1M "$1" && fstrim "$1"' - "$fs" \
    2>trimmed.out || bad "record: $(cat trimmed.out)"
"$e4replay" replay trimmed.e4c --all --no-progress >trimmed.out 2>&1 || bad "replay: $(cat trimmed.out)"
awk '$1 == "issued" && $2 > 0 && $2 == $3 { same = 1 } END { exit !same }' trimmed.out ||
    bad "what FITRIM sent: $(grep -A3 ^discards trimmed.out)"
ok "what FITRIM sent, $(awk '$1 == "issued" { print $2 }' trimmed.out) discards, is what the model sends"

# Reads a capture while it grows. Its name has terminal control characters.
hostile=$'\033[2J\n.e4c'
"$e4replay" record --max-freeze 60s "$fs" -o "$hostile" --no-progress --for 600s 2>hostile.out &
recorder=$!
wait_for_tracing $recorder
./busy "$fs" 600 20
for ((i = 0; i < 300; i++)); do
    "$e4replay" info "$hostile" >growing.out 2>&1 || true
    if grep -q '^end  *not yet: it is still being recorded' growing.out; then break; fi
    sleep 0.1
done
grep -q '^end  *not yet: it is still being recorded' growing.out || bad "$(cat growing.out)"
grep -q 'warning: .*is still being recorded' growing.out || bad "$(cat growing.out)"
if grep -q 'truncated' growing.out; then bad "$(cat growing.out)"; fi
kill -INT $recorder
wait $recorder || bad "status $?: $(cat hostile.out)"
grep -q '^\\x1b\[2J\\n.e4c: [0-9,]* events in ' hostile.out || bad "$(cat -v hostile.out)"
"$e4replay" info "$hostile" >growing.out 2>&1
if grep -q 'being recorded' growing.out; then bad "$(cat growing.out)"; fi
as_before
ok "a capture that grows is being recorded"

record "$loop" -o timed.e4c --no-progress --for 1s --settle 2>/dev/null
as_before
"$e4replay" info timed.e4c | grep -q 'the time was up' || bad "--for"
ok "for a time, after --settle"

# If a BPF program can be loaded, each request has the size of its file. Otherwise the recorder reports that, and
# continues.
record "$fs" -o full.e4c --events full --no-progress -- ./busy "$fs" 400 200 2>full.out
as_before
"$e4replay" trace convert full.e4c full.txt >/dev/null
asked=$(grep -c 'ext4_request_blocks:' full.txt)
known=$(grep -c 'ext4_request_blocks: .* i_size [0-9]* i_writecount [0-9]' full.txt || true)
if grep -q 'recorded without file sizes' full.out; then
    [ "$known" = 0 ] || bad "$known sizes from nowhere"
    echo "not tried: --events full: $(grep -o 'full: .*' full.out)"
else
    [ "$asked" -gt 100 ] && [ "$known" = "$asked" ] || bad "sizes of $known of $asked requests"
    "$e4replay" info full.e4c | grep -q 'with file sizes and open writers' || bad "info is silent"
fi
[ "$(percent full.e4c)" -ge 99 ] || bad "full: $(percent full.e4c) % identical"
"$e4replay" record --max-freeze 60s "$fs" -o raw.e4c --events full --clock mono_raw --no-progress \
    -- ./busy "$fs" 700 20 2>full.out
grep -q 'recorded without file sizes' full.out || bad "mono_raw: $(cat full.out)"
as_before
ok "with file sizes of $known of $asked requests, $(percent full.e4c) % identical"

status=0
record "$fs/lost+found" -o status.e4c --no-progress -- sh -c 'exit 7' 2>/dev/null || status=$?
[ $status = 7 ] || bad "status $status of a command that ends with 7"
status=0
# shellcheck disable=SC2016
record "$fs" -o killed.e4c --no-progress -- sh -c 'kill -9 $$' 2>/dev/null || status=$?
[ $status = 137 ] || bad "status $status of a command that is killed"
as_before
ok "the command's status is handed on"

for signal in INT TERM HUP; do
    "$e4replay" record --max-freeze 60s "$fs" -o $signal.e4c --no-progress --for 60s 2>$signal.out &
    recorder=$!
    wait_for_tracing $recorder
    kill -$signal $recorder
    wait $recorder || bad "SIG$signal: status $?: $(cat $signal.out)"
    as_before
    "$e4replay" info $signal.e4c | grep -q interrupted || bad "SIG$signal: no end in the file"
done
ok "signals end a recording as a person would"

# While a writer runs, kills a recorder at twenty different moments, from its first steps to the middle of the
# recording.
./busy "$fs" 5000 2000 &
writer=$!
for ((i = 0; i < 20; i++)); do
    rm -f dead.e4c
    "$e4replay" record --max-freeze 60s "$fs" -o dead.e4c --no-progress --for 60s &
    recorder=$!
    sleep "0.$(printf %03d $((i * i * 2 + 5)))"
    kill -9 $recorder
    wait $recorder 2>/dev/null || true
    takes_writes "$fs" 300 || bad "frozen by a recorder that was killed"
    "$e4replay" record --clean >/dev/null
    as_before
    if [ -s dead.e4c ]; then
        "$e4replay" info dead.e4c >dead.out 2>&1 || grep -q 'truncated before\|ends within' dead.out ||
            bad "$(cat dead.out)"
    fi
done
kill $writer 2>/dev/null || true
wait $writer 2>/dev/null || true
ok "killed at twenty instants: nothing is left, files are readable"

# The loop device's file is on a file system that can share blocks.
if command -v mkfs.xfs >/dev/null && truncate -s 600M xfs && mkfs.xfs -q xfs && mkdir below above &&
    mount -o loop xfs below 2>/dev/null; then
    truncate -s 200M below/disk
    mke2fs -q -t ext4 below/disk
    mount -o loop below/disk above
    ./busy above 1 60
    record above -o reflink.e4c --snapshot reflink --no-progress -- ./busy above 100 60 2>/dev/null
    [ "$(percent reflink.e4c)" -ge 99 ] || bad "reflink: $(percent reflink.e4c) % identical"
    umount above
    umount below
    ok "by a reflinked copy, $(percent reflink.e4c) % identical"
else
    echo "not tried: --snapshot reflink (needs mkfs.xfs, and a kernel with XFS)"
fi

refused "lies on the recorded file system" record "$fs" -o "$fs/none.e4c" --for 1s
refused "exists already" record "$fs" -o timed.e4c --for 1s
refused "not ext4" "$e4replay" record /proc -o none.e4c
refused "is mounted on" record "$loop" -o none.e4c --snapshot unmounted --for 1s
refused "give --snapshot freeze" record "$fs" -o none.e4c --snapshot reflink --for 1s
refused "cannot run" record "$fs" -o none.e4c --no-progress -- ./no-such-program
if command -v setpriv >/dev/null; then
    chmod 777 "$work"
    refused "needs root\|no permission\|Permission denied" \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$e4replay" record "$fs" -o none.e4c --for 1s
fi
mkdir full
mount -t tmpfs -o size=8k none full
status=0
record "$fs" -o full/run.e4c --no-progress -- ./busy "$fs" 9000 600 2>full.out || status=$?
if [ $status != 1 ] || ! grep -q 'No space left' full.out; then
    bad "full output: status $status: $(cat full.out)"
fi
as_before
ok "a full output disk is an error"
rm -f full/run.e4c
head -c 8k /dev/zero >full/rest
refused "No space left" record "$fs" -o full/none.e4c --for 1s
[ ! -e full/none.e4c ] || bad "an empty file was left"
mount -o remount,ro "$fs"
refused "read-only" record "$fs" -o none.e4c --for 1s
umount "$fs"

# The recording begins before the mount, so the replay need not deduce any state.
cat >mounting <<'MOUNTING'
#!/bin/bash
mount "$1" "$2" && ./busy "$2" 1 60 && umount "$2"
MOUNTING
chmod +x mounting
record "$loop" -o cold.e4c --no-progress -- ./mounting "$loop" "$fs" 2>/dev/null
[ "$(percent cold.e4c)" -ge 99 ] || bad "cold: $(percent cold.e4c) % identical"
ok "from before the mount, $(percent cold.e4c) % identical"
echo "live.sh: $passed checks passed on Linux $(uname -r)"
