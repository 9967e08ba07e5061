#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the file names that `e4replay watch` shows, on this machine's own kernel with ext4 in a loop device. Covers
# hostile names, removed and reused inodes, a frozen file system, another file system mounted over it, and an unmount.
#   names.sh E4REPLAY
# Exit status 77 without root, loop devices, ext4 events, or a policy for this kernel.
set -euo pipefail
# shellcheck source=test/watch/watch.sh
source "$(dirname "$0")/watch.sh"

# file_of INODE: prints the name that the last document shows for the inode. This is a path, or `null`. Prints nothing
# if the document shows no request of this inode.
file_of() {
    grep '}$' watch.out | tail -n 1 | python3 -c '
import json, sys
for request in json.load(sys.stdin)["costly"]:
    if request["inode"] == int(sys.argv[1]):
        print(request["file"] or "null")
        break' "$1"
}
is_file() { [ "$(file_of "$1")" = "$2" ]; }
inode_of() { stat -c %i "$1"; }
# show FILE: writes to the file until the watch shows it among the files whose requests took the most time.
show() {
    local i
    for ((i = 0; i < 100; i++)); do
        head -c $((100000 + RANDOM)) /dev/zero >"$1"
        sync "$1"
        sleep 0.7
        if [ -n "$(file_of "$(inode_of "$1")")" ]; then return; fi
    done
    bad "not among the requests that took most: $1: $(tail -n 1 watch.out)"
}

start_watch "$fs" --json --interval 300ms
wait_until grep -q '"follows":true' watch.out
mkdir "$fs/d"
hostile=$fs/d/$'a\e[2J\x9b\n\xff\xe2\x80\xae"\\ \xc3\xa4'
deleted="$fs/d/so (deleted)"
long=$fs/$(printf 'x%.0s' {1..255})
for file in "$hostile" "$deleted" "$long"; do show "$file"; done
wait_until is_file "$(inode_of "$hostile")" "$fs"'/d/a\x1b[2J\x9b\n\xff\xe2\x80\xae"\ ä'
wait_until is_file "$(inode_of "$deleted")" "$deleted"
wait_until is_file "$(inode_of "$long")" "$long"
ok "names are shown, and cannot control the terminal"

for file in "$fs/gone" "$fs/two" "$fs/d/moved"; do show "$file"; done
ln "$fs/two" "$fs/d/other"
gone=$(inode_of "$fs/gone")
wait_until is_file "$gone" "$fs/gone"
rm "$fs/gone" "$fs/two"
mv "$fs/d/moved" "$fs/here"
wait_until is_file "$gone" null
wait_until is_file "$(inode_of "$fs/d/other")" "$fs/d/other"
wait_until is_file "$(inode_of "$fs/here")" "$fs/here"
ok "the names are those of now"

show "$fs/here"
fsfreeze --freeze "$fs"
before=$(wc -l <watch.out)
sleep 6
[ "$(wc -l <watch.out)" -gt $((before + 5)) ] || bad "no documents while it was frozen"
is_file "$(inode_of "$fs/here")" "$fs/here" || bad "frozen: $(file_of "$(inode_of "$fs/here")")"
fsfreeze --unfreeze "$fs"
ok "a frozen file system delays nobody"

show "$fs/here"
# While another file system is mounted on top, no path below the mount point belongs to the watched file system.
here=$(inode_of "$fs/here")
mount -t tmpfs tmpfs "$fs"
wait_until is_file "$here" null
umount "$fs"
ok "what is mounted over it is not asked"

validate_documents
umount "$fs"
wait "$watcher" || bad "status $? after an unmount: $(cat watch.err)"
as_before
ok "an unmount succeeds and ends it"
echo "names.sh: $passed checks passed on Linux $(uname -r)"
