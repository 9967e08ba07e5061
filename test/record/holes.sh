#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ages a mounted file system of this machine's own kernel by holes, with the operations that `age --profile punch`
# draws, and compares the free space with that of the model.
#   holes.sh E4REPLAY
# Prints the histograms of e2freefrag. Fails if the free extents of kernel and model differ by more than a tenth.
set -euo pipefail
# shellcheck source=test/record/loop.sh
. "$(dirname "${BASH_SOURCE[0]}")/loop.sh"
command -v python3 >/dev/null || skip "no python3"
choose_policy

cat >player <<'PLAYER'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
KEEP_SIZE, PUNCH_HOLE = 1, 2
os.chdir(sys.argv[1])
if len(sys.argv) == 3:  # creates the files, and prints their inodes
    for slot in range(int(sys.argv[2])):
        print(os.fstat(os.open(f"f{slot}", os.O_CREAT | os.O_RDWR)).st_ino)
        os.close(3)
    sys.exit()
for line in open(sys.argv[3]):
    kind, *numbers = line.split()
    numbers = [int(number) for number in numbers]
    if kind == "s":
        os.sync()
        continue
    file = os.open(f"f{numbers[0]}", os.O_RDWR)
    if kind == "r":
        os.ftruncate(file, 0)
    elif libc.fallocate(file, KEEP_SIZE | PUNCH_HOLE if kind == "p" else 0, numbers[1], numbers[2]) != 0:
        sys.exit(f"{line.strip()}: {os.strerror(ctypes.get_errno())}")
    os.close(file)
PLAYER
python3 player "$fs" 600 >slots
umount "$fs"
cp --sparse=always disk start.img
"$e4replay" age start.img --profile punch --slots slots -p $policy --until 'utilisation 0.9, turnover 8x' \
    --write-operations script --no-progress -o model.img >model.txt
cat model.txt
mount "$loop" "$fs"
cat "/proc/fs/ext4/${loop#/dev/}/mb_groups" >/dev/null
python3 player "$fs" - "$PWD/script"
umount "$fs"
extents() { e2freefrag "$1" | awk '/^HISTOGRAM/ { on = 1 } on && /:/ { n += $4 } END { print n }'; }
histogram() { e2freefrag "$1" | sed -n '/free extent:/p; /HISTOGRAM/,$p'; }
echo "kernel $(uname -r), the same operations:" && histogram disk
echo "model, $policy:" && histogram model.img
a=$(extents disk) b=$(extents model.img)
awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 0 && b > 0 && a < b * 1.1 && b < a * 1.1) }' ||
    bad "free extents: $a in the kernel, $b in the model"
ok "free extents: $a and $b"
