# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Correctness: direct writes of less than a block and more, many at once, with everything else that
# changes a file; every sector compared with a model, also after a remount, e2fsck clean. Blocks of
# 1, 2 and 4 KiB, nodelalloc, a file without extents.
#   SECONDS_EACH=20      of each configuration
#   CONFIGS="1k 4k"      of 1k 2k 4k 4k-nodelalloc 4k-indirect (default: all)
#   RUN_SEED=1, ENGINES=sync,aio,uring, DEPTH=8
#   NSEC=200000          that null_blk takes for a request
#   DEVICE=disk          the disk under test (--image) instead of null_blk
# mem: 768M
# timeout: 300
# append: null_blk.nr_devices=0
if [ "${DEVICE:-null_blk}" = null_blk ]; then
    # Requests in memory that take time: several are in flight at any moment.
    device=/sys/kernel/config/nullb/lab
    mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
    mkdir "$device"
    for pair in size=256 blocksize=512 memory_backed=1 irqmode=2 "completion_nsec=${NSEC:-200000}" \
        queue_mode=2 submit_queues=1 hw_queue_depth=128; do
        echo "${pair#*=}" >"$device/${pair%%=*}"
    done
    echo 1 >"$device/power"
    DISK=/dev/lab
fi
state=$E4R_RUN/state

# stress NAME MOUNT-OPTIONS MKE2FS-OPTIONS...
stress() {
    local name=$1 options=$2
    shift 2
    case " ${CONFIGS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    mke2fs -q -F -t ext4 "$@" "$DISK" 200M
    mount -t ext4 -o "$options" "$DISK" "$FS"
    say "$name"
    "$BIN/diostress" --seconds "${SECONDS_EACH:-20}" --seed "${RUN_SEED:-1}" \
        --engines "${ENGINES:-sync,aio,uring}" --depth "${DEPTH:-8}" --state "$state" "$FS" \
        >"$E4R_RUN/figures.part" || failed=1
    sed "s/^/$name\//" "$E4R_RUN/figures.part" >>"$E4R_RUN/figures"
    umount "$FS"
    e2fsck -fn "$DISK"
    [ -z "$failed" ] || return 1
    mount -t ext4 -o "$options" "$DISK" "$FS"
    "$BIN/diostress" --verify-only "$state" "$FS" | sed "s/^/$name\//" >>"$E4R_RUN/figures"
    umount "$FS"
}

failed=
"$BIN/diostress" --self-test 1 "$FS" >>"$E4R_RUN/figures"
stress 1k defaults -b 1024
stress 2k defaults -b 2048
stress 4k defaults -b 4096
stress 4k-nodelalloc nodelalloc -b 4096
stress 4k-indirect defaults -b 4096 -O ^extent,^64bit
