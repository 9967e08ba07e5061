# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What jobs share inside the guest. $DISK is the disk under test, $FS where it is mounted.

say() {
    echo "guest: $*"
}

# figure NAME VALUE: one measured number, collected by `lab ab`.
figure() {
    echo "$1 $2" >>"$E4R_RUN/figures"
}

knobs() {
    echo "/sys/fs/ext4/$(basename "$DISK")"
}

mb_proc() {
    echo "/proc/fs/ext4/$(basename "$DISK")"
}

# mount_disk [OPTIONS]: mounts, sets NAME=VALUE words of $KNOBS, counts from here.
mount_disk() {
    local knob
    mount -t ext4 -o "${1:-defaults}" "$DISK" "$FS"
    for knob in mb_stats=1 ${KNOBS:-}; do
        echo "${knob#*=}" >"$(knobs)/${knob%%=*}"
    done
}

# What the kernel says of the allocator: values, mount line, release.
tunables() {
    local knob
    for knob in "$(knobs)"/mb_*; do
        echo "${knob##*/}:$(cat "$knob")"
    done
    sed -n 's/^\(mb_optimize_scan\)=\([01]\)$/\1:\2/p' "$(mb_proc)/options"
    grep "^$DISK " /proc/mounts
    uname -r
}

# stat_of NAME [SECTION]: one counter of mb_stats.
stat_of() {
    awk -v name="$1:" -v section="${2:-}" '
        /^\t?[^\t]*:$/ { current = $1 }
        $1 == name && (section == "" || current == section ":") { print $2; exit }' \
        "$(mb_proc)/mb_stats"
}

# Every counter of mb_stats as a figure.
stats_as_figures() {
    awk '/:$/ && NF == 1 { section = $1; sub(/:$/, "", section); next }
         /^\t[^\t]/ && !/^\t\t/ { section = "" }
         NF == 2 && $2 ~ /^[0-9]+$/ {
             name = $1; sub(/:$/, "", name)
             print (section ~ /^(cr|best)/ && /^\t\t/ ? section "/" : "") name, $2 }' \
        "$(mb_proc)/mb_stats" | sed 's/_stats\//\//' >>"$E4R_RUN/figures"
}

events="ext4:ext4_request_blocks ext4:ext4_allocate_blocks ext4:ext4_mballoc_alloc
    ext4:ext4_mballoc_prealloc ext4:ext4_mb_new_inode_pa ext4:ext4_mb_new_group_pa
    ext4:ext4_mb_release_inode_pa ext4:ext4_mb_release_group_pa ext4:ext4_discard_preallocations
    ext4:ext4_mb_discard_preallocations ext4:ext4_free_blocks ext4:ext4_mballoc_free
    ext4:ext4_mb_buddy_bitmap_load ext4:ext4_prefetch_bitmaps ext4:ext4_allocate_inode
    ext4:ext4_free_inode jbd2:jbd2_commit_flushing jbd2:jbd2_end_commit"

start_trace() {
    local event
    echo mono >"$TRACING/trace_clock"
    echo "${TRACE_KB:-200000}" >"$TRACING/buffer_size_kb"
    for event in $events; do
        echo 1 >"$TRACING/events/${event/://}/enable"
    done
    : >"$TRACING/trace"
    echo 1 >"$TRACING/tracing_on"
}

# save_trace FILE: fails when events were lost.
save_trace() {
    echo 0 >"$TRACING/tracing_on"
    if grep -hE '^(overrun|dropped events|commit overrun): *[1-9]' \
        "$TRACING"/per_cpu/cpu*/stats; then
        say "events were lost: TRACE_KB=${TRACE_KB:-200000} is too small"
        return 1
    fi
    cat "$TRACING/trace" >"$1"
}
