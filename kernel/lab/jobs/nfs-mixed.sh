# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: a sequential writer, a random writer and a writer through a mapping write one file at the same time, with
# NFS 4.2 and 3. Write-behind sends the data, with a bound that is often reached. On a kernel without write-behind, the
# mount is eager. The contents are compared with O_DIRECT reads.
#   SECONDS_EACH=15      seconds for each version of NFS; RUN_SEED=1
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 384M
# timeout: 300
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
send_early 2
client
umount "$mount_dir"
for VERS in ${VERS:-4.2 3}; do
    mount_nfs
    : >"$E4R_RUN/figures.part"
    counts_begin
    "$BIN/nfsmixed" --seconds "${SECONDS_EACH:-15}" --seed "${RUN_SEED:-1}" "$mount_dir" \
        >>"$E4R_RUN/figures.part"
    "$BIN/nfsstream" --mib 32 --kib 4096 --check 1 "$mount_dir" >/dev/null
    op_counts >"$E4R_RUN/counts.after"
    counted >>"$E4R_RUN/figures.part"
    sed "s/^/$VERS\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$mount_dir"
    counts="behind_sent behind_held"
    has_write_behind || counts="writes commits"
    awk -v sent="${counts% *}" -v held="${counts#* }" '{ n[$1] = $2 }
        END { exit !(n[sent] > 20 && n[held] > 5) }' "$E4R_RUN/figures.part" || {
        say "too few for a test: $counts"
        exit 1
    }
done
