#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares mke2fs-lazy with two stock versions of mke2fs: Debian 12's, and 1.47.2 built from Debian 13's source.
#   lazyinit.sh [BUILD] [DIR]    default: build/release; DIR on a disk, default $TMPDIR or /tmp
#   E4R_BENCH_GIB="16 256 1024 16384": sizes of sparse files (dumpe2fs alone takes 17 s for the largest)
#   E4R_BENCH_RAM_ONLY=1: use only the loop device on ramfs
# Uses sparse files of 16 GiB, 256 GiB, 1 TiB and 16 TiB (less one block, the largest file on ext4 with 4 KiB blocks).
# For each of them, prints the seconds, the bytes that the process and its children wrote, the bytes of the file on
# disk, and the number of groups marked as zeroed (median of three). Then, as root, measures two loop devices: one with
# WRITE ZEROES, and one on ramfs without it. On the latter, also compares zeroing with dd.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/release}")
lazy=$build/tools/mke2fs-lazy
work=$(mktemp -d "${2:-${TMPDIR:-/tmp}}/e4r-lazyinit.XXXXXX")
loops=()
mounts=()
cleanup() {
    local it
    for it in "${loops[@]}"; do losetup -d "$it"; done
    for it in "${mounts[@]}"; do umount "$it"; done
    rm -rf "$work"
}
trap cleanup EXIT

stock=$(PATH=$PATH:/usr/sbin command -v mke2fs)
newer=
if test/e2fsprogs/fetch.sh trixie "$build/e2fsprogs-trixie"; then
    newer=$build/e2fsprogs-trixie/src/build/misc/mke2fs
else
    echo "lazyinit.sh: apt does not reach e2fsprogs 1.47.2: Debian 12's alone" >&2
fi
version() { "$1" -V 2>&1 | sed -n 's/^mke2fs \([^ ]*\).*/\1/p'; }

# Runs a command and prints "SECONDS WRITTEN". The kernel counts the bytes that the command and its children
# write (wchar: bytes passed to write(); zeroing ioctls and fallocate do not count).
measured() {
    python3 - "$@" <<'END'
import subprocess, sys, time, os
def wchar():
    # /proc/self/io includes the sum for finished children for which this process has waited.
    return int(next(l.split()[1] for l in open("/proc/self/io") if l.startswith("wchar")))
before, start = wchar(), time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE)
seconds = time.monotonic() - start
if done.returncode:
    sys.exit(done.stderr.decode())
print(f"{seconds:.3f} {wchar() - before}")
END
}

mib() { awk -v b="$1" 'BEGIN { printf "%.1f", b / 1048576 }'; }

# Prints one row: the median by time of three runs on a new file (or on the unchanged device).
row() {
    local label=$1 target=$2 size=$3
    shift 3
    local runs=() one
    for _ in 1 2 3; do
        [ -b "$target" ] || { rm -f "$target"; truncate -s "$size" "$target"; }
        one=$(measured "$@" "$target")
        runs+=("$one")
    done
    read -r seconds written < <(printf '%s\n' "${runs[@]}" | sort -n | sed -n 2p)
    local file=-
    [ -b "$target" ] || file=$(mib $(($(stat -c %b "$target") * 512)))
    printf '  %-52s %9.3f s %12s MiB written %10s MiB in the file %8s marked\n' "$label" "$seconds" \
        "$(mib "$written")" "$file" \
        "$(dumpe2fs "$target" 2>/dev/null | grep -c ITABLE_ZEROED || true)"
}

all_rows() {
    local target=$1 size=$2 mke2fs init discard
    for mke2fs in "$stock" ${newer:+"$newer"}; do
        local name
        name="mke2fs $(version "$mke2fs")"
        row "$name" "$target" "$size" "$mke2fs" -q -F -t ext4
        row "$name nodiscard" "$target" "$size" "$mke2fs" -q -F -t ext4 -E nodiscard
        # Without lazy initialization, ZERO_RANGE allocates all blocks of all tables, which are 1/64 of the file system.
        if [ $((size / 64)) -lt $(($(df --output=avail -B1 "$work" | tail -1) / 2)) ]; then
            row "$name nodiscard, not lazy" "$target" "$size" "$mke2fs" -q -F -t ext4 -E \
                nodiscard,lazy_itable_init=0
        else
            echo "  $name nodiscard, not lazy: not measured: would fill the disk with" \
                "$((size >> 36)) GiB of tables"
        fi
        row "$name prezeroed (believed)" "$target" "$size" "$mke2fs" -q -F -t ext4 -E \
            nodiscard,assume_storage_prezeroed=1
    done
    for init in lazy probe prezeroed prezeroed,verify=full zero; do
        for discard in "" "nodiscard,"; do
            [ "$init" != prezeroed,verify=full ] || [ -n "$discard" ] || continue
            row "mke2fs-lazy ${discard}itable_init=$init" "$target" "$size" \
                "$lazy" -q -F -t ext4 -E "${discard}itable_init=$init"
        done
    done
}

limit=$(((1 << 44) - 4096))
for gib in ${E4R_BENCH_GIB-16 256 1024 16384}; do
    size=$((gib << 30))
    [ $size -le $limit ] || size=$limit
    echo "sparse file of $((size >> 30)) GiB"
    if ! truncate -s "$size" "$work/file"; then
        echo "  the file system of $work does not hold it: not measured"
        continue
    fi
    all_rows "$work/file" "$size"
done
rm -f "$work/file"

[ "$(id -u)" = 0 ] || { echo "loop devices: not measured, for want of root"; exit 0; }
if [ -z "${E4R_BENCH_RAM_ONLY:-}" ]; then
    echo "loop device on a sparse file of 16 GiB"
    truncate -s 16G "$work/backing"
    device=$(losetup --find --show "$work/backing")
    loops+=("$device")
    echo "  write_zeroes_max_bytes $(cat "/sys/block/$(basename "$device")/queue/write_zeroes_max_bytes")"
    all_rows "$device" 0
fi

# ramfs has no fallocate, so this device has no WRITE ZEROES, and zeroing means writing.
echo "loop device without WRITE ZEROES, 4 GiB on ramfs; tables of 1 GiB; median of five"
mkdir "$work/ram"
mount -t ramfs none "$work/ram"
mounts+=("$work/ram")
dd if=/dev/urandom of="$work/ram/backing" bs=1M count=4096 status=none
device=$(losetup --find --show "$work/ram/backing")
loops+=("$device")
echo "  write_zeroes_max_bytes $(cat "/sys/block/$(basename "$device")/queue/write_zeroes_max_bytes")"
zero_rate() {
    "$stock" -q -F -t ext4 -i 1024 -J size=4 -E nodiscard,lazy_itable_init=1 "$device"
    local start
    start=$(date +%s.%N)
    "$build/tools/tune2fs-lazy" finish --threads "$1" "$device" >/dev/null
    awk -v a="$start" -v b="$(date +%s.%N)" -v n="$tables" 'BEGIN { printf "%.0f", n / 1048576 / (b - a) }'
}
dd_rate() {
    local start
    start=$(date +%s.%N)
    dd if=/dev/zero of="$device" bs=1M count=$((tables >> 20)) oflag=direct conv=fdatasync status=none
    awk -v a="$start" -v b="$(date +%s.%N)" -v n="$tables" 'BEGIN { printf "%.0f", n / 1048576 / (b - a) }'
}
"$stock" -q -F -t ext4 -i 1024 -J size=4 -E nodiscard,lazy_itable_init=1 "$device"
tables=$(dumpe2fs -h "$device" 2>/dev/null | awk '/^Inode count/ { print $3 * 256 }')
middle() { sort -n | sed -n 3p; }
for _ in 1 2 3 4 5; do
    dd_rate >>"$work/dd"
    zero_rate 1 >>"$work/one"
    zero_rate 4 >>"$work/four"
    printf '\n' | tee -a "$work/dd" "$work/one" "$work/four" >/dev/null
done
dd=$(grep . "$work/dd" | middle)
for threads in one four; do
    rate=$(grep . "$work/$threads" | middle)
    printf '  dd %s MiB/s, finish on %s: %s MiB/s, %d %%\n' "$dd" "$threads" "$rate" \
        $((100 * rate / dd))
    printf '    dd %s; finish %s\n' "$(grep . "$work/dd" | xargs)" \
        "$(grep . "$work/$threads" | xargs)"
done
