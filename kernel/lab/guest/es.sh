# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# What jobs on the extent status shrinker share inside the guest. Sourced by them, after lib.sh.

# entries all|reclaimable: of the file system, as the kernel counts them.
entries() {
    local word=objects
    [ "$1" = all ] || word="reclaimable objects"
    sed -n "s/^  \([0-9]*\) $word$/\1/p" "$(mb_proc)/es_shrinker_info"
}

# nothing_written_back: as long as it is not more than most of the memory. The timers are off (init).
nothing_written_back() {
    echo 80 >/proc/sys/vm/dirty_ratio
    echo 70 >/proc/sys/vm/dirty_background_ratio
    # Else the disk's share is that of what it has completed lately, which is nothing.
    echo 99 >"/sys/class/bdi/$(mountpoint -d "$FS")/min_ratio"
}

# drop_all_entries: until no more than a few of the root directory's are reclaimable.
drop_all_entries() {
    local turn
    for ((turn = 0; turn < 10000; ++turn)); do
        [ "$(entries reclaimable)" -gt 0 ] || return 0
        echo 2 >/proc/sys/vm/drop_caches
    done
    say "$(entries reclaimable) entries are still reclaimable"
    return 1
}

# expect_entries ALL RECLAIMABLE: that many, and up to 50 of other inodes.
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

# slab_figures WHEN: bytes of the slabs of entries, and of one entry.
slab_figures() {
    awk -v when="$1" '$1 == "ext4_extent_status" {
        print "slab_" when "_bytes", $15 * $6 * 4096; print "entry_bytes", $4; found = 1 }
        END { exit !found }' /proc/slabinfo >"$E4R_RUN/slab"
    if [ "$1" = before ]; then
        cat "$E4R_RUN/slab"
    else
        grep slab "$E4R_RUN/slab"
    fi >>"$E4R_RUN/figures"
}

start_es_trace() {
    events="ext4:ext4_es_shrink ext4:ext4_es_shrink_scan_enter ext4:ext4_es_shrink_scan_exit"
    start_trace
}

# es_figures: of the trace since then.
es_figures() {
    save_trace "$E4R_RUN/trace"
    awk '
        function value(name,   i) {
            for (i = 1; i < NF; ++i) if ($i == name) return $(i + 1) + 0
            return -1
        }
        function median(   n, i, j, v) {
            n = asort_of()
            return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
        }
        function sift(i, n,   j, v) {
            v = sorted[i]
            for (; (j = 2 * i) <= n; i = j) {
                if (j < n && sorted[j + 1] > sorted[j]) ++j
                if (sorted[j] <= v) break
                sorted[i] = sorted[j]
            }
            sorted[i] = v
        }
        function asort_of(   i, v) {
            for (i = 1; i <= calls; ++i) sorted[i] = ns[i]
            for (i = int(calls / 2); i >= 1; --i) sift(i, calls)
            for (i = calls; i > 1; --i) {
                v = sorted[1]; sorted[1] = sorted[i]; sorted[i] = v
                sift(1, i - 1)
            }
            return calls
        }
        / ext4_es_shrink_scan_enter: / {
            asked += value("nr_to_scan")
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) began = $i + 0
        }
        / ext4_es_shrink: / {
            if (value("nr_visited") >= 0) { exact = 1; visited += value("nr_visited") }
            spared += value("nr_spared") > 0 ? value("nr_spared") : 0
            scan_ns = value("scan_ns")
        }
        / ext4_es_shrink_scan_exit: / {
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) took = $i - began
            ++calls
            shrunk += value("nr_shrunk")
            ns[calls] = exact ? scan_ns : took * 1e9
            sum += ns[calls]; squares += ns[calls] ^ 2
            if (ns[calls] > max) max = ns[calls]
        }
        END {
            if (!calls) { print "guest: no call of the shrinker" >"/dev/stderr"; exit 1 }
            print "calls", calls
            print "asked", asked
            print "visited", exact ? visited : asked
            if (exact) print "spared", spared
            print "reclaimed", shrunk
            if (shrunk) print "visits_per_reclaim", (exact ? visited : asked) / shrunk
            printf "scan_avg_ns %.0f\nscan_median_ns %.0f\nscan_max_ns %.0f\n", sum / calls,
                median(), max
            printf "scan_stddev_ns %.0f\nscan_total_us %.0f\n",
                sqrt(squares / calls - (sum / calls) ^ 2), sum / 1000
            if (shrunk) printf "ns_per_reclaim %.1f\n", sum / shrunk
        }' "$E4R_RUN/trace" >>"$E4R_RUN/figures"
}
