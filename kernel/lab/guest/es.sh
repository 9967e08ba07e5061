# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# Functions for the jobs about the extent status shrinker, inside the guest. The jobs source this file after lib.sh.

# entries all|reclaimable: prints the number of entries of the file system, as the kernel counts them.
entries() {
    local word=objects
    [ "$1" = all ] || word="reclaimable objects"
    sed -n "s/^  \([0-9]*\) $word$/\1/p" "$(mb_proc)/es_shrinker_info"
}

# nothing_written_back: prevents writeback until dirty data fills most of the memory. guest/init has already switched
# the writeback timers off.
nothing_written_back() {
    echo 80 >/proc/sys/vm/dirty_ratio
    echo 70 >/proc/sys/vm/dirty_background_ratio
    # The disk's share of the limit depends on the writes that it completed recently. It has not completed any write
    # yet, so without this minimum its share would be almost zero.
    echo 99 >"/sys/class/bdi/$(mountpoint -d "$FS")/min_ratio"
}

# drop_all_entries LEFT: drops entries until at most LEFT are reclaimable. Stock kernels may need
# thousands of passes. Counting the entries forks, which takes longer than many passes.
drop_all_entries() {
    local turn pass
    for ((turn = 0; turn < 500; ++turn)); do
        [ "$(entries reclaimable)" -gt "$1" ] || return 0
        for ((pass = 0; pass < 20; ++pass)); do echo 2 >/proc/sys/vm/drop_caches; done
    done
    say "$(entries reclaimable) entries are still reclaimable"
    return 1
}

# start_shrinking SECONDS: drops reclaimable entries again and again until stop_shrinking, with this pause between two
# passes. The pause is a read with a timeout, because starting a program such as sleep takes longer than a short pause.
start_shrinking() {
    local never
    touch "$TMPDIR/shrinking"
    mkfifo "$TMPDIR/never"
    exec {never}<>"$TMPDIR/never"
    while [ -e "$TMPDIR/shrinking" ]; do
        echo 2 >/proc/sys/vm/drop_caches
        read -rt "$1" -u "$never" || true
    done &
}
stop_shrinking() {
    rm "$TMPDIR/shrinking"
    wait
}

# expect_entries ALL RECLAIMABLE: fails unless the kernel has these numbers of entries, plus up to 50 entries of other
# inodes.
expect_entries() {
    local all reclaimable
    all=$(entries all)
    reclaimable=$(entries reclaimable)
    if [ "$all" -lt "$1" ] || [ "$all" -gt "$(($1 + 50))" ] || [ "$reclaimable" -lt "$2" ] ||
        [ "$reclaimable" -gt "$(($2 + 50))" ]; then
        say "$all entries, $reclaimable of them reclaimable, where $1 and $2 were to be"
        return 1
    fi
}

# slab_figures WHEN: prints the bytes in the slabs of entries, and the bytes of one entry. (6.12 has another name for
# these slabs.)
slab_figures() {
    awk -v when="$1" '$1 ~ /^(ext4_)?extent_status$/ {
        print "slab_" when "_bytes", $15 * $6 * 4096; print "entry_bytes", $4; found = 1 }
        END { exit !found }' /proc/slabinfo >"$E4R_RUN/slab"
    if [ "$1" = before ]; then
        cat "$E4R_RUN/slab"
    else
        grep slab "$E4R_RUN/slab"
    fi >>"$E4R_RUN/figures"
}

# es_lock_figures PREFIX CLASS: prints the figures of a lock since start_lock_stat: contentions, total and maximum wait
# in microseconds, acquisitions, total, maximum and average hold time in microseconds (columns of lock_stat version 0.4,
# Linux 6.1 kernel/locking/lockdep_proc.c). Prints nothing without the lockstat variant.
es_lock_figures() {
    [ -e "$E4R_RUN/lock_stat" ] || stop_lock_stat || return 0
    awk -v p="$1" -v lock="$2:" '
        $1 == lock {
            printf "%s_contentions %d\n%s_wait_us %d\n%s_wait_max_us %.1f\n", p, $3, p, $6, p, $5
            printf "%s_taken %d\n%s_hold_us %d\n%s_hold_max_us %.1f\n", p, $9, p, $12, p, $11
            printf "%s_hold_avg_us %.3f\n", p, $13
            found = 1
        }
        END { if (!found) print "guest: lock_stat: no " lock >"/dev/stderr"; exit !found }' \
        "$E4R_RUN/lock_stat" >>"$E4R_RUN/figures"
}

# The events that `e4replay shrinker` needs.
es_events="ext4:ext4_es_insert_extent ext4:ext4_es_cache_extent ext4:ext4_es_insert_delayed_block
    ext4:ext4_es_remove_extent ext4:ext4_es_lookup_extent_enter ext4:ext4_es_lookup_extent_exit
    ext4:ext4_es_shrink_scan_enter ext4:ext4_es_shrink_scan_exit ext4:ext4_es_shrink"

# start_es_trace: traces the shrinker's calls. With HOLDS=1, also traces how long an inode's lock is held, on kernels
# that report this.
start_es_trace() {
    events="ext4:ext4_es_shrink ext4:ext4_es_shrink_scan_enter ext4:ext4_es_shrink_scan_exit"
    events+=${HOLDS:+ ext4:ext4_es_reclaim}
    start_trace
}

# es_figures: stops the trace of start_es_trace and computes figures from it.
es_figures() {
    save_trace "$E4R_RUN/trace"
    awk '
        function value(name,   i) {
            for (i = 1; i < NF; ++i) if ($i == name) return $(i + 1) + 0
            return -1
        }
        # Returns the median of the first n numbers of an array, and sorts the array (heap sort).
        function median(v, n,   i, x) {
            if (!n) return 0
            for (i = int(n / 2); i >= 1; --i) sift(v, i, n)
            for (i = n; i > 1; --i) {
                x = v[1]; v[1] = v[i]; v[i] = x
                sift(v, 1, i - 1)
            }
            return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        }
        function sift(v, i, n,   j, x) {
            x = v[i]
            for (; (j = 2 * i) <= n; i = j) {
                if (j < n && v[j + 1] > v[j]) ++j
                if (v[j] <= x) break
                v[i] = v[j]
            }
            v[i] = x
        }
        / ext4_es_shrink_scan_enter: / {
            asked += visits = value("nr_to_scan")
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) began = $i + 0
        }
        / ext4_es_shrink: / {
            if (value("nr_visited") >= 0) { exact = 1; visits = value("nr_visited") }
            spared += value("nr_spared") > 0 ? value("nr_spared") : 0
            scan_ns = value("scan_ns")
        }
        / ext4_es_reclaim: / { hold_ns[++holds] = value("ns") }
        / ext4_es_shrink_scan_exit: / {
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) took = $i - began
            ++calls
            shrunk += value("nr_shrunk")
            ns[calls] = exact ? scan_ns : took * 1e9
            visited += visits
            if (visits) visit_ns[++visiting] = ns[calls] / visits
            sum += ns[calls]; squares += ns[calls] ^ 2
            if (ns[calls] > max) max = ns[calls]
        }
        END {
            if (!calls) { print "guest: no call of the shrinker" >"/dev/stderr"; exit 1 }
            print "calls", calls
            print "asked", asked
            print "visited", visited
            if (exact) print "spared", spared
            print "reclaimed", shrunk
            printf "scan_avg_ns %.0f\nscan_max_ns %.0f\nscan_stddev_ns %.0f\n", sum / calls, max,
                sqrt(squares / calls - (sum / calls) ^ 2)
            printf "scan_median_ns %.0f\n", median(ns, calls)
            if (holds) {
                printf "hold_median_ns %.0f\n", median(hold_ns, holds)
                printf "hold_p90_ns %.0f\n", hold_ns[int(0.9 * (holds - 1)) + 1]
            }
            # A median ignores the few calls during which the host did other work.
            each = median(visit_ns, visiting)
            printf "visit_ns %.1f\n", each
            if (shrunk) printf "visits_per_reclaim %.3f\nreclaim_ns %.1f\n", visited / shrunk,
                each * visited / shrunk
        }' "$E4R_RUN/trace" >>"$E4R_RUN/figures"
}
