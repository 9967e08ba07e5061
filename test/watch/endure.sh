#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lets `e4replay watch` follow an ext4 in a loop device of this machine for some minutes. In this time, it causes events
# that are otherwise spread over a year: writers of several kinds, FITRIM, freezes, remounts, growth, an unmount, a
# suspended watch, a killed watch, two watches at once, and captures on a full disk. The watch must follow every
# decision, or report that it lost track. Its memory must not grow from round to round, and it must leave nothing in the
# kernel.
#   endure.sh E4REPLAY [MINUTES]    default: 3 minutes
# Exit status 77 without root, loop devices, ext4 events, or a policy for this kernel.
set -euo pipefail
# shellcheck source=test/watch/watch.sh
source "$(dirname "$0")/watch.sh"
until=$((SECONDS + ${2:-3} * 60))
E4R_SEED=${E4R_SEED:-1}
RANDOM=$((E4R_SEED % 32768))

# ---- The watch.

# begin: starts a watch whose flight recorder keeps the last seconds.
begin() {
    start_watch "$fs" --json -p linux-6.12 --interval 500ms --check 3s --keep 5s --cooldown 1s --after 0 \
        --max-files 100 -o "$work/captures/flight.e4c"
    wait_until follows
}
follows() { [ "$(tell follows)" = True ]; }
# up_to_date: whether the watch has followed all events until now.
up_to_date() { follows && python3 -c "import sys; sys.exit(not $(tell behind_s) < 1)"; }
# tally: adds up the watch's final counts for each start image. The watch must have given a reason for each start image
# except the first.
decisions=0 identical=0 starts=0
: >differences
tally() {
    local reasons of_one same difference
    grep '}$' watch.out | python3 -c '
import json, sys
last = {}
for line in sys.stdin:
    document = json.loads(line)
    if document.get("decisions"):
        last[document["starts"]] = document
for one in last.values():
    print(one["decisions"], one["identical"], one["last_difference"])' >tallied
    while read -r of_one same difference; do
        decisions=$((decisions + of_one))
        identical=$((identical + same))
        [ "$of_one" = "$same" ] || echo "$((of_one - same)) of $of_one, the last one $difference" >>differences
    done <tallied
    starts=$((starts + $(tell starts)))
    grep -o '[^"]*; taking a new start image' watch.out >these || true
    reasons=$(wc -l <these)
    [ "$(tell starts)" -le $((1 + reasons)) ] || bad "$(tell starts) starts for $reasons reasons"
    sed 's/^[0-9]* /N /; s/group [0-9].*;/group;/' these >>reasons
}
finish() {
    end_watch
    tally
}
resident_kb() { awk '/^VmRSS/ { print $2 }' /proc/$watcher/status; }

# ---- The writers and events.

write_files() { ./busy "$fs" $((RANDOM * 100)) $((RANDOM % 100 + 20)); }
preallocate() {
    local i
    for ((i = 0; i < 50; i++)); do
        fallocate -l $((RANDOM % 4000 + 4))K "$fs/a$i" 2>/dev/null || true
        truncate -s $((RANDOM % 200))K "$fs/a$((RANDOM % 50))"
    done
    rm -f "$fs"/a*
}
append_slowly() {
    local i
    for ((i = 0; i < 200; i++)); do head -c $((RANDOM % 9000)) /dev/zero >>"$fs/log$((i % 7))"; done
    rm -f "$fs"/log*
}
# own_directory: makes a directory for the writer that calls it, and prints its name.
own_directory() {
    local directory=$fs/${FUNCNAME[1]}.$BASHPID
    mkdir "$directory"
    echo "$directory"
}
copy_tree() {
    local to
    to=$(own_directory)
    cp -a --no-preserve=ownership "$tree" "$to"
    sync -f "$fs"
    rm -rf "$to"
}
# Copies a tree by rsync while its files change and disappear.
copy_by_rsync() {
    local to
    to=$(own_directory)
    rsync -a --no-owner --no-group "$tree/" "$to/new"
    rsync -a --delete "$to/new/" "$to/mirror"
    find "$to/new" -type f | awk 'NR % 4 == 0' | xargs -r -d '\n' sh -c 'for f; do echo more >>"$f"; done' _
    find "$to/new" -type f | awk 'NR % 9 == 0' | xargs -r -d '\n' rm
    rsync -a --delete --inplace "$to/new/" "$to/mirror"
    rm -rf "$to"
}
# Makes a PostgreSQL cluster and runs some transactions, as the user that Debian's package creates.
run_postgres() {
    local home log
    home=$(own_directory)
    log=$work/${home##*/}.log
    chown postgres "$home"
    (cd "$home" && setpriv --reuid=postgres --regid=postgres --clear-groups bash -ec '
        PATH=$1:$PATH
        initdb -D data
        pg_ctl -D data -w -o "-k $PWD -c listen_addresses=" -l log start
        createdb -h "$PWD" bench
        pgbench -h "$PWD" -i -s 1 -q bench
        pgbench -h "$PWD" -c 2 -t 200 bench
        psql -h "$PWD" -q -c "vacuum full" bench
        pg_ctl -D data -w -m fast stop' _ "$postgres") >"$log" 2>&1 ||
        { tail -n 5 "$log" >&2 && return 1; }
    rm -rf "$home" "$log"
}
# end_postgres: ends servers that still run when the script fails.
end_postgres() {
    local file
    for file in "$fs"/run_postgres.*/data/postmaster.pid; do
        [ ! -e "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null || true
    done
}
run_fsstress() {
    local to
    to=$(own_directory)
    "$FSSTRESS" -d "$to" -s $RANDOM -n 500 -p 2 >/dev/null
    rm -rf "$to"
}
remove_files() { find "$fs" -type f -name "f*$((RANDOM % 10))" -delete; }
trim() { fstrim "$fs"; }
freeze() { fsfreeze --freeze "$fs" && sleep 0.3 && fsfreeze --unfreeze "$fs"; }
remount() { mount -o "remount,stripe=$((RANDOM % 3 * 16))" "$fs"; }
suspend() {
    kill -STOP $watcher
    write_files
    kill -CONT $watcher
}
beside_another() { "$e4replay" watch --max-freeze 60s "$fs" --once >second.out 2>second.err || bad "second: $(cat second.err)"; }
capture() {
    kill -USR1 $watcher
    sleep 1
}
capture_on_full_disk() {
    head -c 4M /dev/zero >captures/filler 2>/dev/null || true
    capture
    rm -f captures/filler
}
grow() {
    truncate -s +32M "$work/disk"
    losetup -c "$loop"
    resize2fs "$loop" >resize.out 2>&1 && return
    # Root without CAP_SYS_RESOURCE may not resize.
    grep -q 'Permission denied to resize' resize.out || bad "resize2fs: $(cat resize.out)"
    grows=no
}
kill_and_begin() {
    kill -9 $watcher
    wait $watcher 2>/dev/null || true
    tally
    takes_writes "$fs" 300 || bad "frozen by a watch that was killed"
    "$e4replay" record --clean >/dev/null
    as_before
    begin
}
unmount_and_begin() {
    umount "$fs"
    wait $watcher || bad "status $? after an unmount: $(cat watch.err)"
    [ "$(tell is_over)" = True ] || bad "an unmount does not end it: $(tail -n 1 watch.out)"
    tally
    mount "$loop" "$fs"
    begin
}

mkdir captures
mount -t tmpfs -o size=4m tmpfs captures
trap 'end_postgres; umount --lazy "$work/captures" 2>/dev/null || true; cleanup' EXIT
tree=/usr/share/perl5
[ -d $tree ] || tree=/usr/share/doc
work_of=(write_files copy_tree preallocate append_slowly)
not_tried=()
if command -v rsync >/dev/null; then work_of+=(copy_by_rsync); else not_tried+=("rsync, which is not installed"); fi
postgres=$(find /usr/lib/postgresql -path '*/bin/initdb' -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
if [ -n "$postgres" ] && id postgres >/dev/null 2>&1; then
    chmod 711 "$work" # the database server must be able to enter it
    work_of+=(run_postgres)
else
    not_tried+=("PostgreSQL, which is not installed")
fi
if [ -n "${FSSTRESS:-}" ]; then work_of+=(run_fsstress); else not_tried+=("fsstress, since FSSTRESS names none"); fi
begin
trouble=(trim freeze remount suspend beside_another capture capture_on_full_disk grow kill_and_begin unmount_and_begin)
most_kb=0 grows=yes
for ((round = 1; SECONDS < until; round++)); do
    writers=()
    for ((i = 0; i < 2; i++)); do
        "${work_of[RANDOM % ${#work_of[@]}]}" &
        writers+=($!)
    done
    event=${trouble[round % ${#trouble[@]}]}
    # Unmount only after the writers have ended.
    if [ "$event" != unmount_and_begin ]; then "$event"; fi
    wait "${writers[@]}" || bad "a writer failed"
    if [ "$event" = unmount_and_begin ]; then "$event"; fi
    remove_files
    wait_until up_to_date
    now_kb=$(resident_kb)
    # After each event has occurred twice, the watch has seen every kind of event. So measure the growth of its memory
    # from here.
    if ((round == 2 * ${#trouble[@]})); then first_kb=$most_kb most_kb=0; fi
    if ((now_kb > most_kb)); then most_kb=$now_kb; fi
    for file in captures/*.e4c; do
        [ -e "$file" ] || continue
        status=0
        "$e4replay" verify "$file" >verify.out 2>&1 || status=$?
        # A capture that begins right after a start image may have no decision.
        if grep -q "has no event that closes a decision" verify.out; then status=0; fi
        [ $status = 0 ] || [ $status = 3 ] || bad "$file: $(cat verify.out)"
        [ $status = 0 ] || [ -z "${KEEP:-}" ] || cp "$file" "$KEEP/round-$round-${file##*/}"
        rm "$file"
    done
done
finish
umount captures
[ $grows = yes ] || not_tried+=("growth, since this root may not resize a file system")
for what in "${not_tried[@]}"; do echo "not tried: $what"; done
sed 's/^/differed: /' differences
sort reasons | uniq -c | sort -rn || true
if [ -n "${first_kb:-}" ]; then
    [ $((most_kb * 2)) -le $((first_kb * 3)) ] || bad "memory grows: $first_kb KB, later $most_kb KB"
fi
[ $((decisions - identical)) -le $((decisions / 100)) ] || bad "only $identical of $decisions decisions are identical"
echo "endure.sh: $identical of $decisions decisions identical, $starts start images, $((round - 1)) rounds," \
    "most memory ${first_kb:-none} KB and then $most_kb KB"
