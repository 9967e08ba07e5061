#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests `e4replay watch` on this machine's own kernel, with ext4 in a loop device: what the watch follows, how it ends,
# and that it leaves the machine as it was.
#   live.sh E4REPLAY
# Exit status 77 without root, loop devices, ext4 events, or a policy for this kernel.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
# shellcheck source=test/watch/watch.sh
source "$(dirname "$0")/watch.sh"

# wait_for TEXT: waits until the watch has written TEXT.
wait_for() { wait_until grep -q -- "$1" watch.out watch.err; }

[ ! -s watch.err ] || bad "$(cat watch.err)"
grep -q '^[0-9:]*  recorded ' watch.out || bad "$(cat watch.out)"
as_before
ok "--once ends by itself"

# Watch a file system that has been used before, with two shadow replays.
umount "$fs"
mount -o nodelalloc "$loop" "$fs"
./busy "$fs" 1000 100
start_watch "$fs" --json -p linux-6.12,linux-6.1 --interval 500ms --check 2s
wait_for '"follows":true'
./busy "$fs" 2000 200
wait_for '"checks":[1-9]'
end_watch
decisions=$(tell decisions)
[ "$decisions" -gt 500 ] || bad "only $decisions decisions"
[ $((decisions - $(tell identical))) -le $((decisions / 100)) ] ||
    bad "$(tell identical) of $decisions are identical: $(tell last_difference)"
[ "$(tell starts)" = 1 ] || bad "began anew: $(grep -o '"notes":[^]]*[^[]]' watch.out)"
[ "$(tell mb_groups differing)" = 0 ] || bad "$(tell mb_groups first)"
[ "$(tell mb_groups compared)" -gt 0 ] || bad "no group was compared"
[ "$(tell lost_events)" = 0 ] || bad "events were lost"
for column in 0 1 2; do
    [ "$(tell columns $column start requests)" -gt 500 ] || bad "column $column: $(tail -n 1 watch.out)"
    [ "$(tell columns $column start files count)" -gt 50 ] || bad "column $column: $(tail -n 1 watch.out)"
done
[ "$(tell columns 2 name)" = legacy ] || bad "$(tell columns 2 name)"
ok "$(tell identical) of $decisions decisions are identical, and the groups are the kernel's"

validate_documents
ok "each line is a document of the schema"

# Test the flight recorder while several processes write and remove files. followed FILE: checks that the capture has a
# checkpoint, and that the model agrees with its decisions. A decision may differ only if several processes were in the
# allocator at the same time.
followed() {
    "$e4replay" verify "$1" --json verify.json >verify.out 2>&1 || [ $? = 3 ] || bad "$1: $(cat verify.out)"
    python3 - "$1" <<'PYTHON' || bad "$1: $(cat verify.out)"
import json, sys
document = json.load(open("verify.json"))
agreement = document["runs"][0]["agreement"]
assert document["warm_start"]["checkpoint"] is True, document["warm_start"]
assert agreement["requests"] > 200, agreement
differing = agreement["requests"] - agreement["identical"]
assert differing <= agreement["races"], (sys.argv[1], agreement)
assert differing <= agreement["requests"] / 200, (sys.argv[1], agreement)
PYTHON
}
# storm FILES: starts four processes, each of which writes FILES files. Leaves their pids in `writers`.
storm() {
    local i
    writers=()
    for i in 1 2 3 4; do
        ./busy "$fs" $((10000 * i)) "$1" &
        writers+=($!)
    done
}
mkdir -p small
mount -t tmpfs -o size=64k tmpfs small
start_watch "$fs" --json --interval 200ms --keep 2s --after 500ms -o "$PWD/flight.e4c" \
    --when 'requests_per_s > 20' --cooldown 3s
wait_for '"follows":true'
storm 400
wait_for 'requests_per_s > 20: wrote .*flight.e4c'
kill -USR1 $watcher
wait_for 'SIGUSR1: wrote .*flight-2.e4c'
wait "${writers[@]}"
end_watch
[ "$(tell keeps files_written)" -ge 2 ] || bad "$(tell keeps)"
followed flight.e4c
followed flight-2.e4c
"$e4replay" replay flight.e4c -p linux-6.12,linux-7.3 >replay.out 2>&1 || bad "$(cat replay.out)"
"$e4replay" info flight.e4c | grep -q 'checkpoint' || bad "$("$e4replay" info flight.e4c)"
rm -f flight*.e4c
ok "the flight recorder's captures are followed"

refused "lies on the recorded file system" "$e4replay" watch "$fs" --keep 10m -o "$fs/flight.e4c"
start_watch "$fs" --json --interval 200ms --keep 1M --after 0 -o "$PWD/small/flight.e4c"
wait_for '"follows":true'
head -c 64k /dev/zero >small/full 2>/dev/null || true
./busy "$fs" 60000 300
kill -USR1 $watcher
wait_for 'no capture: .*No space left'
rm small/full
umount small
kill -USR1 $watcher
wait_for 'SIGUSR1: wrote .*small/flight.e4c'
end_watch
followed small/flight.e4c
rm -r small
ok "a full disk costs a capture, and the watch goes on"

# One watch writes to a pipe whose reader ends. Another runs for a limited time.
"$e4replay" watch --max-freeze 60s "$fs" --interval 200ms 2>pipe.err | head -n 3 >pipe.out || true
[ "$(wc -l <pipe.out)" = 3 ] || bad "$(cat pipe.out)"
as_before
"$e4replay" watch --max-freeze 60s "$fs" --for 1s >watch.out 2>watch.err || bad "--for: $(cat watch.err)"
as_before
ok "a reader that goes, and --for, end it"

# Tests the full-screen page, if this build has it.
script -qec "TERM=dumb $e4replay watch --max-freeze 60s $fs --for 200ms" plain.out </dev/null >/dev/null 2>&1
if grep -q 'built without ncursesw' plain.out; then
    echo "not tried: the full-screen page: this build has none"
else
    grep -q 'showing lines instead of a page' plain.out || bad "a dumb terminal: $(cat plain.out)"
    (./busy "$fs" 3000 40 &)
    python3 "$here/page.py" "$e4replay" "$fs"
    python3 -c 'import json, sys; assert json.load(sys.stdin)["schema"] == "e4replay-watch/1"' \
        <"$(ls e4replay-watch-*.json)"
    as_before
    ok "the page has its parts and its keys, and follows the terminal's size"
fi

for signal in TERM HUP; do
    start_watch "$fs" --interval 200ms
    wait_for_tracing $watcher
    kill -$signal $watcher
    wait $watcher || bad "SIG$signal: status $?: $(cat watch.err)"
    as_before
done
ok "signals end it"

start_watch "$fs"
wait_for_tracing $watcher
kill -9 $watcher
wait $watcher 2>/dev/null || true
takes_writes "$fs" 300 || bad "frozen by a watch that was killed"
"$e4replay" record --clean >/dev/null
as_before
ok "killed: nothing is left after record --clean"

start_watch "$fs" --json --interval 200ms
"$e4replay" watch --max-freeze 60s "$fs" --once >second.out 2>second.err || bad "second: $(cat second.err)"
end_watch
ok "two at once"

start_watch "$fs" --json --interval 200ms
wait_for '"follows":true'
echo 100 >"/sys/fs/ext4/${loop#/dev/}/mb_max_to_scan"
wait_for 'tunables changed; taking a new start image'
wait_for '"starts":2'
echo 200 >"/sys/fs/ext4/${loop#/dev/}/mb_max_to_scan"
wait_for '"starts":3'
mount -o remount,stripe=16 "$fs"
wait_for '"starts":4'
mount -o remount,stripe=0 "$fs"
end_watch
ok "other tunables and options are a reason to begin anew"

# Suspend the watch until there are more events than the kernel's buffers can hold.
start_watch "$fs" --json --buffer 64K --interval 200ms
wait_for '"follows":true'
kill -STOP $watcher
./busy "$fs" 100000 1200
kill -CONT $watcher
wait_for 'the kernel dropped events; taking a new start image'
wait_for '"starts":2'
# A start image may lack state that the kernel has in memory, so that decisions differ until the watch takes another
# start image. A change of tunables makes it take one.
is_exact() { [ "$(tell decisions)" -gt 50 ] && [ $(($(tell decisions) - $(tell identical))) -le 5 ]; }
for attempt in 1 2 3; do
    # Write a few files at a time, because on a busy machine more could overflow these buffers again.
    for ((i = 0; i < 40; i++)); do
        # The watch learns from the first decisions which state the kernel had in memory at the start.
        if is_exact; then break 2; fi
        ./busy "$fs" $((5000 * attempt + 10 * i)) 10
        sleep 0.3
    done
    starts=$(tell starts)
    echo $((200 + attempt)) >"/sys/fs/ext4/${loop#/dev/}/mb_max_to_scan"
    wait_for "\"starts\":$((starts + 1))"
done
end_watch
[ "$(tell lost_events)" -gt 0 ] || bad "no event was lost: $(grep -o '"notes":\[[^]].*' watch.out)"
[ "$(tell decisions)" -gt 50 ] || bad "$(tell decisions) decisions since then"
[ $(($(tell decisions) - $(tell identical))) -le 5 ] || bad "$(tell identical) of $(tell decisions)"
ok "after lost events it begins anew, and $(tell identical) of $(tell decisions) decisions are identical"

# Unmounts the file system right after its last events.
start_watch "$fs" --json --interval 200ms
wait_for '"follows":true'
./busy "$fs" 6000 20
umount "$fs"
wait $watcher || bad "status $? after an unmount: $(cat watch.err)"
as_before
[ "$(tell is_over)" = True ] || bad "$(tail -n 1 watch.out)"
grep -q 'was unmounted' watch.out || bad "$(tail -n 1 watch.out)"
ok "an unmount ends it"

refused "is not mounted" "$e4replay" watch "$loop"
status=0
"$e4replay" watch /proc --keep 10m 2>refused.err || status=$?
[ "$status" = 2 ] && grep -q -- '--keep needs -o' refused.err || bad "status $status: $(cat refused.err)"
refused "not ext4" "$e4replay" watch /proc
mount -o ro "$loop" "$fs"
refused "read-only" "$e4replay" watch "$fs"
umount "$fs"
echo "live.sh: $passed checks passed on Linux $(uname -r)"
