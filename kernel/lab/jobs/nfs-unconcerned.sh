# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: write-behind does not affect writers that use O_SYNC or O_DIRECT, store through a mapping, write at
# random places, or have a pNFS layout (the server has the export option pnfs). Write-behind must send none of their
# data, and O_SYNC and O_DIRECT must need the same number of WRITEs and COMMITs as without it. On a kernel without
# write-behind, the test compares write=eager with the default: O_DIRECT must need the same numbers, and O_SYNC must
# need one COMMIT per write(). In this case, the job also records the counts of all kinds of writers as figures, for
# comparison with a stock kernel.
# series: nfs-eager
# config: nfs
# peer: nfs-server
# mem: 256M
# set: EXPORT_OPTIONS=pnfs
# timeout: 300
# shellcheck source=kernel/lab/guest/nfs.sh
. "$LAB/guest/nfs.sh"
VERS=3 client
umount "$mount_dir"

# count NAME FIO-OPTIONS...: writes 8 MiB with fio. Leaves the counts of requests in counts.NAME, without the TCP
# counts.
count() {
    local name=$1
    shift
    # If the file were shorter, fio would first write the whole file before a job that writes into its middle.
    truncate -s 8M "$mount_dir/file"
    counts_begin
    fio --name=job --filename="$mount_dir/file" --thread --size=8m --bs=64k --end_fsync=1 \
        --randseed=1 --fallocate=none "$@" >/dev/null
    op_counts >"$E4R_RUN/counts.after"
    counted | grep -v retransmits >"$E4R_RUN/counts.$name"
    rm "$mount_dir/file"
}

# count_all MODE: writes the counts of all kinds to counts.KIND-MODE.
count_all() {
    count "sync-$1" --ioengine=psync --rw=write --sync=1
    count "direct-$1" --ioengine=psync --rw=write --direct=1
    count "random-$1" --ioengine=psync --rw=randwrite
    count "mapped-$1" --ioengine=mmap --rw=write
    # Write-behind must send the data of this kind. This shows that the test can detect write-behind.
    count "plain-$1" --ioengine=psync --rw=write
}

# same_counts KIND MODE: fails unless the counts are the same as without write-behind.
same_counts() {
    diff "$E4R_RUN/counts.$1-0" "$E4R_RUN/counts.$1-$2"
    figure "$1/writes" "$(sed -n 's/^writes //p' "$E4R_RUN/counts.$1-$2")"
}

# nothing_behind NAME: fails if write-behind sent data.
nothing_behind() {
    grep -qx 'behind_sent 0' "$E4R_RUN/counts.$1" || {
        say "$1: written behind" && cat "$E4R_RUN/counts.$1"
        return 1
    }
}

behind() {
    local bound kind
    mount_nfs
    for bound in 0 16; do
        sysctl -q fs.nfs.nfs_max_woutstanding=$bound
        count_all $bound
    done
    umount "$mount_dir"
    for kind in sync direct random mapped; do nothing_behind $kind-16; done
    for kind in sync direct; do same_counts $kind 16; done
    nothing_behind plain-0
    if grep -qx 'behind_sent 0' "$E4R_RUN/counts.plain-16"; then
        say "a sequential writer is not written behind" && exit 1
    fi
}

eager() {
    local name
    mount_nfs
    count_all 0
    umount "$mount_dir"
    MOUNT=write=eager mount_nfs
    count_all eager
    umount "$mount_dir"
    for name in {sync,direct,random,mapped,plain}-{0,eager}; do
        sed "s|^|$name/|" "$E4R_RUN/counts.$name" >>"$E4R_RUN/figures"
    done
    diff "$E4R_RUN/counts.direct-0" "$E4R_RUN/counts.direct-eager"
    grep -qx 'commits 128' "$E4R_RUN/counts.sync-eager" || {
        say "other COMMITs with O_SYNC than its own" && cat "$E4R_RUN/counts.sync-eager"
        exit 1
    }
    if diff -q "$E4R_RUN/counts.plain-0" "$E4R_RUN/counts.plain-eager" >/dev/null; then
        say "a writer is not eager" && exit 1
    fi
}

VERS=3
if has_write_behind; then behind; else eager; fi
VERS=4.2
has_write_behind || MOUNT=write=eager
mount_nfs
grep -A9 " mounted on $mount_dir with" /proc/self/mountstats | grep -q 'pnfs=LAYOUT_FLEX_FILES' || {
    say "no pNFS layouts, so this run tests nothing" && exit 1
}
count pnfs --ioengine=psync --rw=write
! has_write_behind || nothing_behind pnfs
"$BIN/nfsstream" --mib 32 --check 1 "$mount_dir" >/dev/null
umount "$mount_dir"
