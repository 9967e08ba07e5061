# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, with the script's arguments, by scripts that run `e4replay watch` on this machine's own kernel. Sets the same
# variables as test/record/loop.sh. Each watch writes to watch.out and watch.err, and `watcher` is its pid. Also exits
# with status 77 if no policy models the kernel.
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
# shellcheck source=test/record/loop.sh
source "$(dirname "${BASH_SOURCE[0]}")/../record/loop.sh"

"$e4replay" watch --max-freeze 60s "$fs" --once >watch.out 2>watch.err || true
if grep -q 'no policy here decides like' watch.err; then skip "$(cat watch.err)"; fi

# start_watch OPTIONS...: starts a watch.
start_watch() {
    : >watch.out # empty until the watch has started
    "$e4replay" watch --max-freeze 60s "$@" >watch.out 2>watch.err &
    watcher=$!
}
# end_watch: ends the watch with Ctrl-C.
end_watch() {
    kill -INT "$watcher"
    wait "$watcher" || bad "status $?: $(cat watch.err)"
    as_before
}
# tell KEYS...: prints a member of the last complete JSON document in watch.out.
tell() {
    grep '}$' watch.out | tail -n 1 | python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[int(key) if isinstance(value, list) else key]
print(value)' "$@"
}
# validate_documents: fails unless each line of watch.out is a document of the schema.
validate_documents() {
    python3 -W ignore "$root/test/schema/validate.py" --lines "$root/docs/schema/watch.schema.json" watch.out
}
# wait_until COMMAND...: waits until the command succeeds.
wait_until() {
    local i
    for ((i = 0; i < 1200; i++)); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    bad "not within two minutes: $*: $(cat watch.err; grep -o '"notes":.[^]]*[^[]]' watch.out; tail -n 1 watch.out)"
}
