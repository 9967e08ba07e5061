# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: if a writer that waits in write-behind is killed while the network is cut, it dies at once. It may be
# waiting after a write() or within a long write(). Afterwards the file system must still work. On a kernel without
# write-behind, the test uses an eager writer, which waits at the dirty limit.
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# timeout: 200
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
send_early 4
client

# held PID: whether the process waits in write-behind, or at the dirty limit. The kernel records each pause at the dirty
# limit as an event, and no pause is longer than 0.2 s. The stack is read only on kernels with write-behind, which have
# one CPU. With several CPUs, User Mode Linux reads at random when it shows the stack of a task that runs, and KASAN
# reports that (kernel/reports/um-stack).
# let_go PID: whether the process waits there no longer. Without write-behind, this means that it exits (PF_EXITING). It
# may still close its file, which can take until the network is back.
if has_write_behind; then
    held() {
        grep -qs nfs_wait_for_room /proc/"$1"/task/*/stack
    }
    let_go() {
        ! held "$1"
    }
else
    echo 1 >"$TRACING/events/writeback/balance_dirty_pages/enable"
    held() {
        : >"$TRACING/trace"
        sleep 0.5
        grep -q -- "-$1 .* balance_dirty_pages: .* pause=[1-9]" "$TRACING/trace"
    }
    let_go() {
        local flags
        read -r _ _ _ _ _ _ _ _ flags _ <"/proc/$1/stat" || return 0 # it has ended
        [ $((flags & 4)) != 0 ]
    }
fi

for kib in 64 32768; do
    "$BIN/nfsstream" --mib 4096 --kib $kib "$mount_dir" >/dev/null 2>&1 &
    writer=$!
    sleep 2
    touch "$E4R_RUN/cut"
    await "$E4R_RUN/is-cut" 10
    within 10 held $writer || { say "the writer ($kib KiB) is not held" && exit 1; }
    sleep 1
    held $writer || { say "the writer ($kib KiB) is no longer held without a network" && exit 1; }
    began=$(date +%s%N)
    kill -KILL $writer
    within 5 let_go $writer || { say "the writer ($kib KiB) cannot be killed" && exit 1; }
    figure "killed_${kib}k_ms" $((($(date +%s%N) - began) / 1000000))
    rm "$E4R_RUN/cut"
    wait $writer || true
    "$BIN/nfsstream" --mib 16 --name after --check 1 "$mount_dir" >/dev/null
done
umount "$mount_dir"
