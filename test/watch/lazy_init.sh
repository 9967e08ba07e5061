#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the figures of `e4replay watch` about the lazyinit thread of this machine's own kernel. The number of groups
# left must agree with dumpe2fs and with the kernel's events, before the thread runs, while it runs, and after its end.
#   lazy_init.sh E4REPLAY
# Exit status 77 without root, loop devices, ext4 events, or a policy for this kernel.
set -euo pipefail
# shellcheck source=test/watch/watch.sh
source "$(dirname "$0")/watch.sh"

umount "$fs"
# Use nodiscard. Otherwise the loop device would turn the discarded blocks into holes, and mke2fs would take these holes
# for zeroed tables.
mke2fs -q -F -t ext4 -g 8192 -E nodiscard,lazy_itable_init=1 "$loop"
groups=32

# not_zeroed: prints the number of groups without ITABLE_ZEROED, according to dumpe2fs on the mounted device.
not_zeroed() { dumpe2fs "$loop" 2>/dev/null | grep '^Group [0-9]*:' | grep -vc ITABLE_ZEROED || true; }
left() { tell lazy_init groups_left; }
is_left() { [ "$(left)" = "$1" ]; }
runs() { [ "$(tell lazy_init runs)" = True ]; }

[ "$(not_zeroed)" = $groups ] || bad "mke2fs has zeroed tables: $(not_zeroed) are left"
instance=$tracing/instances/lazy-init-test-$$
mkdir "$instance"
trap 'rmdir "$instance"; cleanup' EXIT
echo 1 >"$instance/events/ext4/ext4_lazy_itable_init/enable"
zeroed() { grep -c "ext4_lazy_itable_init: dev $(stat -c %Hr,%Lr "$loop") " "$instance/trace" || true; }

mount -o noinit_itable "$loop" "$fs"
start_watch "$fs" --json --interval 200ms --metrics "$PWD/watch.prom"
wait_until grep -q '"lazy_init":{' watch.out
wait_until is_left $groups
! runs || bad "$(tell lazy_init)"
wait_until grep -q "^e4replay_lazy_init_groups{.*} $groups" watch.prom
[ "$(zeroed)" = 0 ] || bad "the thread ran"
ok "a mount that forbids the thread"

# After the remount, the watch takes a new start image. The thread begins within five seconds.
mount -o remount,init_itable=10 "$fs"
wait_until grep -q '"starts":2' watch.out
wait_until runs
wait_until is_left 0
[ "$(not_zeroed)" = 0 ] || bad "dumpe2fs: $(not_zeroed) are left"
[ "$(zeroed)" = $groups ] || bad "the kernel has zeroed $(zeroed) of $groups tables"
python3 - watch.out <<'PYTHON' || bad "$(cut -c 1-600 watch.out)"
import json, sys
seen = [json.loads(line)["lazy_init"] for line in open(sys.argv[1])]
left = [one["groups_left"] for one in seen if one]
assert left == sorted(left, reverse=True), left
assert any(one and one["groups_per_s"] for one in seen), left
for one in seen:
    if one and one["seconds_left"] is not None:
        assert one["seconds_left"] == one["groups_left"] / one["groups_per_s"], one
PYTHON
wait_until grep -q '^e4replay_lazy_init_groups{.*} 0' watch.prom
end_watch
ok "the thread is followed to its end"

umount "$fs"
mke2fs -q -F -t ext4 -O ^metadata_csum,^uninit_bg "$loop"
mount "$loop" "$fs"
start_watch "$fs" --json --interval 200ms
wait_until grep -q '"lazy_init":{' watch.out
is_left 0 || bad "no checksums of groups: $(left) are left"
end_watch
ok "a file system without the flags has nothing left"
echo "lazy_init.sh: $passed checks passed on Linux $(uname -r)"
