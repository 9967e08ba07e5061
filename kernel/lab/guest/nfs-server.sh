# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Runs in the second guest of the nfs-* jobs: knfsd exports an ext4 file system until a file named `stop` appears. The
# job requests an action by creating a file with one of these names:
#   restart    nfsd ends and starts again two seconds later
#   crash      nfsd does the same, but before it starts again, the file system loses everything that is not on disk
# With SERVER_TRACE=1, the guest leaves a trace of nfsd's disk requests in the run's directory.
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"

network $server_address
make_export
start_nfsd
writeback_as_usual
events="nfsd:nfsd_write_start nfsd:nfsd_write_done ext4:ext4_sync_file_enter ext4:ext4_sync_file_exit
    jbd2:jbd2_start_commit jbd2:jbd2_commit_flushing jbd2:jbd2_commit_logging jbd2:jbd2_end_commit
    block:block_bio_queue block:block_bio_complete"
[ "${SERVER_TRACE:-0}" = 0 ] || start_trace
touch "$E4R_RUN/ready"
until [ -e "$E4R_RUN/stop" ]; do
    for request in restart crash; do
        [ -e "$E4R_RUN/$request" ] || continue
        rm "$E4R_RUN/$request"
        rpc.nfsd 0
        [ $request = restart ] || crash_export
        sleep 2
        nfsd_threads
        touch "$E4R_RUN/did-$request"
    done
    sleep 0.1
done
[ "${SERVER_TRACE:-0}" = 0 ] || save_trace "$E4R_RUN/trace"
rpc.nfsd 0
exportfs -ua
umount "$export_dir"
e2fsck -fn "$export_disk"
