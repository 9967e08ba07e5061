# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: eagerly written files stay open, and each has too little data to cause a COMMIT. After a few seconds the
# client must send a COMMIT for them anyway, so that their pages are no longer pinned.
#   FILES=40 KIB=256     number of files, and data in each
#   WITHIN_S=10          time until nothing is dirty or under writeback
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# timeout: 120
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
MOUNT=write=eager
client

# Prints the KiB that are dirty or under writeback. Pages that wait for a COMMIT count as one of the two.
pinned() {
    awk '/^(Dirty|Writeback):/ { sum += $2 } END { print sum }' /proc/meminfo
}
none_pinned() {
    [ "$(pinned)" -lt 64 ]
}

counts_begin
# One process writes all files. A child process would close its inherited descriptors, and each close would flush a
# file.
python3 - "$mount_dir" "${FILES:-40}" "${KIB:-256}" "$TMPDIR/written" <<'EOF' &
import os, sys, time
directory, files, kib, written = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
for i in range(files):
    fd = os.open(f"{directory}/{i}", os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(fd, b"x" * (kib << 10))
os.close(os.open(written, os.O_CREAT | os.O_WRONLY))
time.sleep(1000)
EOF
writer=$!
await "$TMPDIR/written" 30
figure pinned_kib "$(pinned)"
began=$(date +%s%N)
within "${WITHIN_S:-10}" none_pinned || { say "$(pinned) KiB are pinned after ${WITHIN_S:-10} s" && exit 1; }
figure "left_s" "$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')"
counts_end
kill $writer
wait $writer || true
umount "$mount_dir"
