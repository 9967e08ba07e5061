# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: while the client writes a stream, the network is cut for some seconds, nfsd restarts, and the server
# loses everything that is not on its disk. The file must not lose data. The stream uses write-behind, or an eager mount
# if the kernel has no write-behind. Runs with NFS 4.2 and 3.
#   MIB=192 CUT_S=4 RATE=100mbit
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# set: RATE=100mbit
# timeout: 400
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
send_early 8
# The number of WRITEs per MiB. With write-behind, wsize limits the size of a WRITE. Otherwise each write() causes one
# WRITE.
each=4
has_write_behind || each=16
client
umount "$mount_dir"

still_writing() {
    kill -0 "$writer" 2>/dev/null || { say "the stream had ended before: $1" && return 1; }
}

for VERS in ${VERS:-4.2 3}; do
    mount_nfs
    counts_begin
    "$BIN/nfsstream" --mib "${MIB:-192}" --check 1 "$mount_dir" >"$E4R_RUN/figures.part" &
    writer=$!
    sleep 2
    touch "$E4R_RUN/cut"
    await "$E4R_RUN/is-cut" 10
    sleep "${CUT_S:-4}"
    rm "$E4R_RUN/cut"
    sleep 2
    for event in restart crash; do
        still_writing $event
        ask $event 120
        sleep 2
    done
    still_writing "the last event"
    wait "$writer"
    op_counts >"$E4R_RUN/counts.after"
    counted >>"$E4R_RUN/figures.part"
    sed "s/^/$VERS\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$mount_dir"
    # The client must have sent more WRITEs than the file needs, because it wrote the lost data again.
    awk -v once=$((${MIB:-192} * each)) '$1 == "writes" { writes = $2 } END { exit !(writes > once) }' \
        "$E4R_RUN/figures.part" || { say "nothing was written twice, so this run tests nothing" && exit 1; }
done
