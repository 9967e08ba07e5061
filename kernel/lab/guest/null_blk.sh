# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# Makes memory disks that take a fixed time per request. Sourced by jobs, after lib.sh.

# make_null_blk NAME=VALUE...: makes a null_blk device with these attributes (configfs). If an attribute is repeated,
# the last value counts. By default, the device has 8 GiB in memory, and handles one request of up to 32 KiB at a time,
# in a millisecond. Sets DISK to its name, /dev/lab. First removes an existing device of this name.
make_null_blk() {
    local device=/sys/kernel/config/nullb/lab pair
    mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
    if [ -d "$device" ]; then
        echo 0 >"$device/power"
        rmdir "$device"
    fi
    mkdir "$device"
    for pair in size=8192 blocksize=4096 memory_backed=1 irqmode=2 completion_nsec=1000000 \
        queue_mode=2 submit_queues=1 hw_queue_depth=1 max_sectors=64 "$@"; do
        # Linux 5.15 and earlier have no attribute max_sectors.
        [ -e "$device/${pair%%=*}" ] || [ "$pair" != max_sectors=64 ] || continue
        echo "${pair#*=}" >"$device/${pair%%=*}"
    done
    echo 1 >"$device/power"
    DISK=/dev/lab
    [ -b $DISK ] || DISK=/dev/nullb$(cat "$device/index") # its name on 5.15 and earlier
}
