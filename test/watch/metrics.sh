#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the metrics of `e4replay watch` on this machine's own kernel: the file, the port, and hostile clients.
#   metrics.sh E4REPLAY
# Exit status 77 without root, loop devices, ext4 events, or a policy for this kernel.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
# shellcheck source=test/watch/watch.sh
source "$here/watch.sh"

mkdir prom
file=$work/prom/e4replay.prom
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# begin OPTIONS...: starts a watch with metrics. finish ends it.
begin() { start_watch "$fs" --json --interval 200ms --metrics "$file" "$@"; }
finish() {
    end_watch
    [ "$(metric following)" = 0 ] || bad "the last text says that the kernel is followed"
    [ "$(ls prom)" = e4replay.prom ] || bad "left beside the file: $(ls prom)"
}
# metric NAME [LABEL="VALUE"...]: prints the value of the sample in the file that has these labels.
metric() {
    local lines label
    lines=$(grep "^e4replay_$1[{ ]" "$file") || return 1
    for label in "${@:2}"; do lines=$(grep -F -- "$label" <<<"$lines") || return 1; done
    echo "${lines##* }"
}
# at_least N NAME [LABEL...]: whether the value of this metric is at least N.
at_least() {
    local value
    value=$(metric "${@:2}") && [ "${value%.*}" -ge "$1" ]
}

refused "none" "$e4replay" watch "$fs" --metrics "$work/none/e4replay.prom"
refused "cannot" "$e4replay" watch "$fs" --metrics "$work/prom"
refused "cannot listen on 192.0.2.1:$port" "$e4replay" watch "$fs" --listen "192.0.2.1:$port"
for address in "$port" "localhost:$port" "127.0.0.1" "::1:$port" "127.0.0.1:70000"; do
    status=0
    "$e4replay" watch "$fs" --listen "$address" 2>refused.err || status=$?
    [ $status = 2 ] && grep -q 'give ADDRESS:PORT' refused.err || bad "$address: status $status: $(cat refused.err)"
done
ok "malformed addresses are refused"

begin -p linux-6.12 --listen "127.0.0.1:$port"
wait_until test -s "$file"
status=0
"$e4replay" watch "$fs" --listen "127.0.0.1:$port" 2>refused.err || status=$?
[ $status = 1 ] && grep -q 'Address already in use' refused.err || bad "status $status: $(cat refused.err)"
wait_until at_least 0 requests_total 'allocator="recorded"'
./busy "$fs" 1000 300
wait_until at_least 200 requests_total 'allocator="recorded"'
[ "$(metric lost_events_total)" = 0 ] || bad "events were lost"
at_least 200 decisions_total || bad "$(metric decisions_total) decisions"
at_least 200 request_groups_count 'allocator="linux-6.12' || bad "$(cat "$file")"
at_least 1 searches_total 'allocator="recorded"' 'criterion="cr1"' || bad "$(cat "$file")"
grep -q "device=\"${loop#/dev/}\",mountpoint=\"$fs\"" "$file" || bad "$(head "$file")"
ok "the file has the figures of the kernel and of a shadow"

# A reader of the file must always see a complete text.
for ((i = 0; i < 300; i++)); do
    text=$(cat "$file" && echo .)
    [[ $text == '# HELP e4replay_watch_info '*'e4replay_request_groups_count{'*$'\n.' ]] || bad "torn: $text"
done
mv "$file" rotated
wait_until test -s "$file"
ok "readers see whole texts, and a file that was moved away is written again"

python3 "$here/clients.py" "$port" polite
ok "a client gets the format that it asks for, and everything else is refused"

# Despite hostile clients, the watch must continue, lose no event, and need no more memory.
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$watcher/status"; }
before=$(rss)
./busy "$fs" 5000 400 &
writer=$!
python3 "$here/clients.py" "$port" hostile || bad "hostile clients"
wait $writer
wait_until at_least 500 requests_total 'allocator="recorded"'
[ "$(metric lost_events_total)" = 0 ] || bad "events were lost"
[ $(($(rss) - before)) -lt 32768 ] || bad "grew from $before KiB to $(rss) KiB"
ok "hostile clients disturb nothing"

# A change of a tunable must cause a new start image.
requests=$(metric requests_total 'allocator="recorded"')
echo 100 >"/sys/fs/ext4/${loop#/dev/}/mb_max_to_scan"
wait_until at_least 1 new_start_images_total 'reason="changed"'
for ((i = 0; i < 20; i++)); do
    at_least "$requests" requests_total 'allocator="recorded"' || bad "a counter went down: $(cat "$file")"
    sleep 0.1
done
./busy "$fs" 9000 100
wait_until at_least $((requests + 50)) requests_total 'allocator="recorded"'
echo 200 >"/sys/fs/ext4/${loop#/dev/}/mb_max_to_scan"
wait_until at_least 2 new_start_images_total 'reason="changed"'
finish
at_least $((requests + 50)) requests_total 'allocator="recorded"' || bad "$(cat "$file")"
ok "counters go on over new start images"

# The file system of the metrics file becomes full, and then has space again.
mount -t tmpfs -o size=64k tmpfs prom
begin
wait_until test -s "$file"
head -c 64k /dev/zero >prom/full 2>/dev/null || true
wait_until grep -q 'metrics: cannot write .*No space left' watch.out
sleep 1
rm prom/full
rm "$file"
wait_until test -s "$file"
finish
[ "$(grep -c 'metrics: cannot write' watch.out)" = 1 ] || bad "$(grep -c 'metrics: cannot write' watch.out) warnings"
umount prom
ok "a full disk is one warning"

"$e4replay" watch --max-freeze 60s "$fs" --once --metrics "$file" >watch.out 2>watch.err || bad "$(cat watch.err)"
at_least 0 events_total || bad "--once wrote nothing"
ok "--once writes the file"

# Run the watch with only the service's capabilities and a read-only view of the file system. Each capability must be
# necessary.
capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$here/../../examples/e4replay-watch@.service")
[ "$(wc -w <<<"$capabilities")" = 2 ] || bad "the service has other capabilities: $capabilities"
# shut_in CAPABILITY...: watches with only these capabilities.
shut_in() {
    local set=-all capability
    for capability in "$@"; do set+=,+${capability#CAP_}; done
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --mount --propagation slave sh -c 'mount -o remount,bind,ro "$1" && cd / && shift && exec "$@"' - "$fs" \
        setpriv --no-new-privs --inh-caps=-all --bounding-set="${set,,}" \
        "$e4replay" watch --max-freeze 60s "$fs" --once >watch.out 2>watch.err
}
chown nobody "$fs"
chmod 700 "$fs"
# shellcheck disable=SC2086 # word splitting is intended
shut_in $capabilities || bad "$capabilities do not suffice: $(cat watch.err)"
as_before
for capability in $capabilities; do
    # shellcheck disable=SC2086
    ! shut_in ${capabilities/$capability/} || bad "$capability is not needed"
    grep -q "$fs" watch.err || bad "without $capability: $(cat watch.err)"
    as_before
done
ok "the capabilities of the service are needed, and suffice"
echo "metrics.sh: $passed checks passed on Linux $(uname -r)"
