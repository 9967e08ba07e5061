# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: many concurrent direct writes of any size, including writes smaller than a block, run together with all
# other operations that change a file. Every sector is compared with a model, also after a remount, and e2fsck must find
# nothing. The name of a configuration begins with its block size. A suffix means: -nodelalloc, this mount option;
# -indirect, a file without extents; -bigalloc, clusters of 16 blocks; -files, several files at once; -errors, a disk
# that refuses some sectors; -queue, a disk that handles one request at a time; -tail, such a disk and a single thread,
# which writes at the end of the file.
#   SECONDS_EACH=16      seconds per configuration; a -tail configuration takes half of this time
#   CONFIGS="1k 4k"      configurations among 1k 2k 4k 4k-nodelalloc 4k-indirect 4k-bigalloc 4k-files 4k-errors
#                        4k-queue 1k-tail 2k-tail 4k-tail (default: all)
#   RUN_SEED=1, ENGINES=sync,aio,uring, DEPTH=8, ARGS="--threads 1" (more options for diostress)
#   NSEC=200000          nanoseconds of null_blk per request
#   DEVICE=disk          the disk under test (--image) instead of null_blk
# mem: 768M
# timeout: 600
# append: null_blk.nr_devices=0
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"

# make_disk N: makes a memory disk that takes a fixed time per request and handles N requests at once. If N is small,
# the I/O scheduler keeps and sorts the waiting requests, so they do not reach the disk in the order of submission.
make_disk() {
    [ "${DEVICE:-null_blk}" = null_blk ] || return 0
    make_null_blk size=256 blocksize=512 "completion_nsec=${NSEC:-200000}" "hw_queue_depth=$1" \
        max_sectors=2560
    if grep -q mq-deadline /sys/block/lab/queue/scheduler; then
        echo mq-deadline >/sys/block/lab/queue/scheduler
        # By default, the scheduler's queue is at most twice as long as the disk's.
        echo 256 >/sys/block/lab/queue/nr_requests
    else
        say "no mq-deadline in this kernel: nothing is sorted"
    fi
    [ -z "$nomerges" ] || echo 2 >/sys/block/lab/queue/nomerges
}

# Fills the disk with a known byte. A block that still has this byte was not written.
soil() {
    head -c "$size" /dev/zero | tr '\0' Z |
        dd of="$DISK" bs=1M iflag=fullblock oflag=direct status=none
}

# stress NAME REQUESTS-AT-ONCE MOUNT-OPTIONS MKE2FS-OPTIONS...: runs one configuration.
stress() {
    local name=$1 requests=$2 options=$3 state=$E4R_RUN/state failed=0
    shift 3
    case " ${CONFIGS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    say "$name"
    make_disk "$requests"
    soil
    mke2fs -q -F -t ext4 "$@" "$DISK" "$size"
    mount -t ext4 -o "$options" "$DISK" "$FS"
    # shellcheck disable=SC2086 # word splitting is intended
    "$BIN/diostress" --seconds "$seconds" --seed "${RUN_SEED:-1}" \
        --patience $((60 * SLOW)) --engines "${ENGINES:-sync,aio,uring}" --depth "${DEPTH:-8}" \
        --state "$state" $more "$FS" >"$E4R_RUN/figures.part" || failed=1
    sed "s/^/$name\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$FS"
    e2fsck -fn "$DISK"
    [ $failed = 0 ] || return 1
    mount -t ext4 -o "$options" "$DISK" "$FS"
    "$BIN/diostress" --verify-only "$state" "$FS" | sed "s/^/$name\//" >>"$E4R_RUN/figures"
    umount "$FS"
}

ARGS=${ARGS:-}
more=$ARGS
nomerges=
size=100M
seconds=${SECONDS_EACH:-16}
"$BIN/diostress" --self-test 1 "$FS" >>"$E4R_RUN/figures"
stress 1k 128 defaults -b 1024
stress 2k 128 defaults -b 2048
stress 4k 128 defaults -b 4096
# Without delayed allocation, the first store to a page allocates a block that is not marked unwritten (6.1
# ext4_page_mkwrite(), ext4_should_dioread_nolock()). A concurrent direct read can then see old data of the disk.
more="$ARGS --exposing 1"
stress 4k-nodelalloc 128 nodelalloc -b 4096
more=$ARGS
stress 4k-indirect 128 defaults -b 4096 -O ^extent,^64bit
stress 4k-bigalloc 128 defaults -b 4096 -O bigalloc -C 65536
# Each thread writes to all files, even within one batch.
more="$ARGS --files 3 --size 1M"
stress 4k-files 128 defaults -b 4096
# null_blk fails whole requests. A merged request with a bad sector would also fail the good sectors of other requests.
if [ "${DEVICE:-null_blk}" = null_blk ]; then
    more="$ARGS --changers 0 --bad-sectors /sys/kernel/config/nullb/lab/badblocks" nomerges=2
    stress 4k-errors 128 defaults -b 4096
fi
more=$ARGS nomerges=
NSEC=${NSEC:-300000}
stress 4k-queue 1 defaults -b 4096
# With one thread, no other thread can take the inode lock between two writes of a batch.
ENGINES=aio DEPTH=24 seconds=$(((seconds + 1) / 2))
more+=" --threads 1 --changers 0 --readers 0 --mappers 0 --tails 60"
stress 1k-tail 1 defaults -b 1024
stress 2k-tail 1 defaults -b 2048
stress 4k-tail 1 defaults -b 4096
