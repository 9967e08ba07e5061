# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Functions for jobs inside the guest. $DISK is the disk under test, $FS its mount point.

say() {
    echo "guest: $*"
}

# figure NAME VALUE: records a measured number for `lab ab`.
figure() {
    echo "$1 $2" >>"$E4R_RUN/figures"
}

knobs() {
    echo "/sys/fs/ext4/$(basename "$DISK")"
}

mb_proc() {
    echo "/proc/fs/ext4/$(basename "$DISK")"
}

# mount_disk [OPTIONS]: mounts $DISK on $FS, sets the knobs in $KNOBS (NAME=VALUE words), and starts the counters of
# mb_stats.
mount_disk() {
    local knob
    mount -t ext4 -o "${1:-defaults}" "$DISK" "$FS"
    for knob in mb_stats=1 ${KNOBS:-}; do
        echo "${knob#*=}" >"$(knobs)/${knob%%=*}"
    done
}

# churn_mix MIX NAME: runs churn in the directory NAME and records its figures. check_mix checks the files afterwards.
churn_mix() {
    mkdir "$FS/$2"
    "$BIN/churn" --threads "${THREADS:-4}" --ops "${OPS:-800}" --files 60 --max-size 2M \
        --seed "${RUN_SEED:-1}" --mix "$1" --manifest "$E4R_RUN/manifest.$1" "$FS/$2" |
        sed "s/^/$2\//" >>"$E4R_RUN/figures"
}
check_mix() {
    "$BIN/churn" --check "$E4R_RUN/manifest.$1" "$FS"
}

# Prints the allocator's settings: values, mount line, release.
tunables() {
    local knob
    for knob in "$(knobs)"/mb_*; do
        echo "${knob##*/}:$(cat "$knob")"
    done
    # Kernels since 5.13 have this file.
    if [ -e "$(mb_proc)/mb_structs_summary" ]; then
        sed -n 's/^optimize_scan: \([01]\)$/mb_optimize_scan:\1/p' "$(mb_proc)/mb_structs_summary"
    fi
    awk -F'[-,]' '{ print "possible_cpus:" $NF + 1 }' /sys/devices/system/cpu/possible
    grep "^$DISK " /proc/mounts
    uname -r
}

# stat_of NAME [SECTION]: prints one counter of mb_stats.
stat_of() {
    awk -v name="$1:" -v section="${2:-}" '
        /^\t?[^\t]*:$/ { current = $1 }
        $1 == name && (section == "" || current == section ":") { print $2; exit }' \
        "$(mb_proc)/mb_stats"
}

# Records every counter of mb_stats as a figure.
stats_as_figures() {
    awk '/:$/ && NF == 1 { section = $1; sub(/:$/, "", section); next }
         /^\t[^\t]/ && !/^\t\t/ { section = "" }
         NF == 2 && $2 ~ /^[0-9]+$/ {
             name = $1; sub(/:$/, "", name)
             print (section ~ /^(cr|best)/ && /^\t\t/ ? section "/" : "") name, $2 }' \
        "$(mb_proc)/mb_stats" | sed 's/_stats\//\//' >>"$E4R_RUN/figures"
}

# Prints the kernel's counts of allocation stalls, and of pages scanned and reclaimed by allocating tasks (direct) and
# by kswapd. reclaim_figures records how much they have grown since start_reclaim_counts.
reclaim_counts() {
    awk '/^allocstall/ { stalls += $2 }
        /^pg(scan|steal)_(direct|kswapd) / { print } END { print "allocstall", stalls }' /proc/vmstat
}
start_reclaim_counts() {
    reclaim_counts >"$E4R_RUN/vmstat.before"
}
reclaim_figures() {
    reclaim_counts | paste -d' ' "$E4R_RUN/vmstat.before" - |
        awk '{ print $1, $4 - $2 }' >>"$E4R_RUN/figures"
}

# In the lockstat variant, counts waits for locks from this call until lock_figures.
lock_stat=/proc/lock_stat
start_lock_stat() {
    [ -e $lock_stat ] || return 0
    echo 0 >$lock_stat
    echo 1 >/proc/sys/kernel/lock_stat
}

# stop_lock_stat: stores the counts in $E4R_RUN/lock_stat. Returns false in variants other than lockstat.
stop_lock_stat() {
    [ -e $lock_stat ] || return 1
    echo 0 >/proc/sys/kernel/lock_stat
    cat $lock_stat >"$E4R_RUN/lock_stat"
}

# Records waits for locks as figures. Does nothing in variants other than lockstat.
lock_figures() {
    stop_lock_stat || return 0
    sums_of_locks "$E4R_RUN/lock_stat" >>"$E4R_RUN/figures"
}

# lock_figures_of NAME: does the same as lock_figures, but appends _NAME to the name of each figure.
lock_figures_of() {
    stop_lock_stat || return 0
    sums_of_locks "$E4R_RUN/lock_stat" | sed "s/ /_$1 /" >>"$E4R_RUN/figures"
}

# sums_of_locks FILE: makes figures from a copy of /proc/lock_stat, in three classes. group_lock is the class of ext4's
# group locks (struct blockgroup_lock: 128 locks shared by the groups). list_locks are the locks of mballoc's lists by
# order and by average fragment size. all_locks are all locks of the kernel. The figures of a class are contentions,
# microseconds waited, acquisitions and microseconds held (columns of lock_stat version 0.4, Linux 6.1
# kernel/locking/lockdep_proc.c). Fails if lockdep has stopped or saw no group lock.
sums_of_locks() {
    awk '
        function add(what) {
            contended[what] += n[2]; waited[what] += n[5]; taken[what] += n[8]; held[what] += n[11]
        }
        function figures(what) {
            printf "%s_contentions %.0f\n%s_wait_us %.0f\n", what, contended[what], what, waited[what]
            printf "%s_taken %.0f\n%s_hold_us %.0f\n", what, taken[what], what, held[what]
        }
        /^\*WARNING\*/ { print "guest: lock_stat: " $0 >"/dev/stderr"; bad = 1 }
        # The line of a class is "NAME: 12 numbers". Lines with fewer numbers follow it, one for each place in the code
        # that waits.
        match($0, /:( +[0-9]+(\.[0-9]+)?)+ *$/) && split(substr($0, RSTART + 1), n, " ") == 12 {
            name = substr($0, 1, RSTART - 1)
            gsub(/^ +| +$/, "", name)
            add("all_locks")
            if (name == "&bgl->locks[i].lock") add("group_lock")
            if (name ~ /s_mb_(largest_free_orders|avg_fragment_size)_locks/) add("list_locks")
        }
        END {
            if (!taken["group_lock"]) {
                print "guest: lock_stat: no group lock was taken" >"/dev/stderr"
                bad = 1
            }
            if (bad) exit 1
            figures("group_lock"); figures("list_locks"); figures("all_locks")
        }' "$1"
}

events="ext4:ext4_request_blocks ext4:ext4_allocate_blocks ext4:ext4_mballoc_alloc
    ext4:ext4_mballoc_prealloc ext4:ext4_mb_new_inode_pa ext4:ext4_mb_new_group_pa
    ext4:ext4_mb_release_inode_pa ext4:ext4_mb_release_group_pa ext4:ext4_discard_preallocations
    ext4:ext4_mb_discard_preallocations ext4:ext4_free_blocks ext4:ext4_mballoc_free
    ext4:ext4_mb_buddy_bitmap_load ext4:ext4_prefetch_bitmaps ext4:ext4_allocate_inode
    ext4:ext4_free_inode ext4:ext4_discard_blocks ext4:ext4_trim_all_free ext4:ext4_collapse_range
    ext4:ext4_insert_range jbd2:jbd2_commit_flushing jbd2:jbd2_end_commit"

start_trace() {
    local event
    echo mono >"$TRACING/trace_clock"
    echo "${TRACE_KB:-200000}" >"$TRACING/buffer_size_kb"
    for event in $events; do
        # Linux 5.8 and earlier do not read bitmaps ahead, so they lack this event.
        [ -e "$TRACING/events/${event/://}" ] || [ "$event" != ext4:ext4_prefetch_bitmaps ] || continue
        echo 1 >"$TRACING/events/${event/://}/enable"
    done
    : >"$TRACING/trace"
    echo 1 >"$TRACING/tracing_on"
}

# start_block_trace: traces requests to block devices, in a separate tracefs instance.
start_block_trace() {
    mkdir "$TRACING/instances/block"
    echo "${TRACE_KB:-200000}" >"$TRACING/instances/block/buffer_size_kb"
    echo 1 >"$TRACING/instances/block/events/block/block_bio_queue/enable"
}

# save_block_discards FILE: stores the first sector and length of each discard in the trace. Fails if events were lost.
save_block_discards() {
    echo 0 >"$TRACING/instances/block/tracing_on"
    if grep -hE '^(overrun|dropped events|commit overrun): *[1-9]' \
        "$TRACING"/instances/block/per_cpu/cpu*/stats; then
        say "events of the block layer were lost: TRACE_KB=${TRACE_KB:-200000} is too small"
        return 1
    fi
    sed -n 's/.* block_bio_queue: [0-9,]* D[A-Z]* \([0-9]*\) + \([0-9]*\) .*/\1 \2/p' \
        "$TRACING/instances/block/trace" >"$1"
    rmdir "$TRACING/instances/block"
}

# save_trace FILE: stores the trace. Fails if events were lost.
save_trace() {
    echo 0 >"$TRACING/tracing_on"
    if grep -hE '^(overrun|dropped events|commit overrun): *[1-9]' \
        "$TRACING"/per_cpu/cpu*/stats; then
        say "events were lost: TRACE_KB=${TRACE_KB:-200000} is too small"
        return 1
    fi
    cat "$TRACING/trace" >"$1"
}
