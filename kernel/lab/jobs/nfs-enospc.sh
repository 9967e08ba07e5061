# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: the server's disk becomes full while the client writes a stream. The stream uses write-behind, or an
# eager mount if the kernel has no write-behind. The writer gets the error from write, fsync or close, once per file.
# Existing files stay unchanged. After space is freed, writes succeed again.
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# set: EXPORT_SIZE=100M
# timeout: 200
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
send_early 8
client
umount "$mount_dir"

# must_fail MIB: writes a stream of this size. Succeeds only if the stream fails with the right error.
must_fail() {
    if "$BIN/nfsstream" --mib "$1" --name big "$mount_dir" >/dev/null 2>"$E4R_RUN/error"; then
        say "a stream of $1 MiB did not fail" && return 1
    fi
    cat "$E4R_RUN/error"
    grep -q '^\(write\|fsync\|close\): No space left on device$' "$E4R_RUN/error"
}

# Prints the free space, including the blocks reserved for root, since the writer is root.
free_mib() {
    echo $(($(stat -f -c '%f * %S' "$mount_dir") >> 20))
}

has_room() {
    [ "$(free_mib)" -ge "$1" ]
}

# gets_room MIB: waits until this much space is free. The blocks of removed files become free when the server's journal
# has committed.
gets_room() {
    within 30 has_room "$1" || { say "no $1 MiB are free again" && return 1; }
}

for VERS in ${VERS:-4.2 3}; do
    mount_nfs
    "$BIN/nfsstream" --mib 32 --name small --check 1 "$mount_dir" >/dev/null
    left=$(free_mib)
    # Try a stream that is far too large, and one that is slightly too large.
    must_fail 200
    rm "$mount_dir/big"
    gets_room $((left - 1))
    must_fail $((left + 4))
    rm "$mount_dir/big"
    gets_room $((left - 1))
    "$BIN/nfsstream" --mib 16 --name again --check 1 "$mount_dir" >/dev/null
    "$BIN/nfsstream" --mib 32 --name small --only-check 1 "$mount_dir"
    rm "$mount_dir/small" "$mount_dir/again"
    umount "$mount_dir"
    figure "$VERS/free_mib" "$left"
done
