# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: while process A writes a file eagerly, process B flushes the same file by a write with RWF_DSYNC. Each
# call of B must return while A still writes. The server's disk flushes its cache slowly. So during a COMMIT, A writes
# more than 8 MiB, and the next COMMIT is due when this one completes. A writes in bursts, and all WRITEs complete
# between two bursts, because fsync, chmod and close also wait for WRITEs. Records the longest calls, and the number of
# COMMITs that were in flight at once.
#   STREAM_S=60          seconds for which A writes
#   BURST_MIB=1          amount that A writes in each quarter of a second
#   LIMIT_S=25           the longest time that a call of B may take
#   CALLS=dsync          the calls that B makes in turn: dsync, fsync, chmod, close (open, write and close). Even on
#                        stock, all of these except dsync may wait for A. none: B does nothing, and only one
#                        COMMIT may be in flight
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 1G
# set: SERVER_DISK=flush SERVER_MS=2000
# timeout: 400
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
MOUNT=${MOUNT:-write=eager}
calls=${CALLS:-dsync}
if [ "$calls" = none ]; then
    calls=
    # If periodic writeback were on, the flusher threads would also send COMMITs.
    SYSCTLS=${SYSCTLS:-vm.dirty_writeback_centisecs=0}
fi
client
umount "$mount_dir"
# shellcheck disable=SC2034 # used by start_trace
events="nfs:nfs_initiate_commit nfs:nfs_commit_done"
# shellcheck disable=SC2034 # used by start_trace
TRACE_KB=4000

# commits FILE: computes figures from a trace: the number of COMMITs while A wrote, the largest number of COMMITs in
# flight at once, and the time of the longest COMMIT in ms.
commits() {
    awk '
        {
            for (i = 1; i <= NF; ++i) if ($i ~ /^[0-9]+[.][0-9]+:$/) break
            t = $i + 0; event = $(i + 1)
        }
        /tracing_mark_write: ended/ { exit }
        event == "nfs_initiate_commit:" { sent[++n] = t; if (++now > most) most = now }
        event == "nfs_commit_done:" {
            took = t - sent[++first]; if (took > longest) longest = took
            --now
        }
        END { printf "commits_sent %d\ncommits_at_once %d\ncommit_max_ms %.0f\n", n, most, 1000 * longest }' "$1"
}

failed=0
for VERS in ${VERS:-4.2 3}; do
    mount_nfs
    start_trace
    python3 - "$mount_dir/stream" "${STREAM_S:-60}" "${BURST_MIB:-1}" "$calls" \
        "$TRACING/trace_marker" >"$E4R_RUN/figures.part" <<'PYTHON'
import os, sys, threading, time
path, seconds, burst, calls = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split()
block = b"x" * (1 << 20)
began = time.monotonic()
fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
os.write(fd, block)
state = {"mib": 1, "ended": None}

def stream():
    for quarter in range(int(4 * seconds)):
        for _ in range(burst):
            os.write(fd, block)
        state["mib"] += burst
        time.sleep(max(0, began + (quarter + 1) / 4 - time.monotonic()))
    state["ended"] = time.monotonic()
    with open(sys.argv[5], "w") as marker:
        marker.write("ended")

def flush(call):
    if call == "chmod":
        os.chmod(path, 0o600)
        return
    if call == "dsync":
        os.pwritev(other, [b"y"], 0, os.RWF_DSYNC)
        return
    if call == "fsync":
        os.fsync(other)
        return
    closing = os.open(path, os.O_WRONLY)
    os.pwrite(closing, b"y", 0)
    os.close(closing)

other = os.open(path, os.O_WRONLY)
writer = threading.Thread(target=stream)
writer.start()
time.sleep(5)
for call in calls:
    times = []
    until = time.monotonic() + (seconds - 15) / len(calls)
    while state["ended"] is None and time.monotonic() < until:
        start = time.monotonic()
        flush(call)
        times.append(time.monotonic() - start)
        time.sleep(0.2)
    if times:
        print(f"{call}_calls {len(times)}\n{call}_max_ms {1000 * max(times):.0f}", flush=True)
writer.join()
os.close(other)
os.close(fd)
print(f"stream_mib {state['mib']}\nstream_s {state['ended'] - began:.1f}")
PYTHON
    save_trace "$E4R_RUN/trace.$VERS"
    commits "$E4R_RUN/trace.$VERS" >>"$E4R_RUN/figures.part"
    sed "s/^/$VERS\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$mount_dir"
    for call in $calls; do
        awk -v name="${call}_max_ms" -v most=$((1000 * ${LIMIT_S:-25})) '
            $1 == name { found = 1; long = $2 > most } END { exit !found || long }' "$E4R_RUN/figures.part" ||
            { say "$VERS: $call by another process took longer than ${LIMIT_S:-25} s" && failed=1; }
    done
    [ -n "$calls" ] || grep -qx 'commits_at_once 1' "$E4R_RUN/figures.part" ||
        { say "$VERS: several COMMITs were in flight at once" && failed=1; }
done
[ $failed = 0 ]
