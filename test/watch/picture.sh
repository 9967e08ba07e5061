#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes docs/pictures/watch.png. It shows the page of `e4replay watch` in a terminal of 110 columns, while programs
# write to an aged ext4 in a loop device.
#   picture.sh E4REPLAY OUT.png
# Needs root, tmux and chromium.
set -euo pipefail
out=$(realpath "$2")
html=$(realpath "$(dirname "$0")")/picture.py
# shellcheck source=test/watch/watch.sh
source "$(dirname "$0")/watch.sh"

# Only this script sees the mount.
mount -t tmpfs tmpfs /mnt
mkdir /mnt/data
umount "$fs"
fs=/mnt/data
mount "$loop" "$fs"
trap 'tmux -L "picture-$$" kill-server 2>/dev/null || true; umount -l /mnt/data; umount -l /mnt; cleanup' EXIT

cat >writer.py <<'PYTHON'
import os, random, sys, time
top, seconds = sys.argv[1], float(sys.argv[2])
random.seed(7)
kinds = [("db/orders-%d.ibd", 4 << 20), ("mail/new/%d.eml", 60 << 10), ("log/app-%d.log", 300 << 10),
         ("cache/tile-%d.png", 24 << 10), ("video/clip-%d.mp4", 9 << 20)]
for kind, _ in kinds:
    os.makedirs(os.path.dirname(f"{top}/{kind}"), exist_ok=True)
files = sorted((os.path.join(at, name) for at, _, names in os.walk(top) for name in names), key=os.path.getmtime)
number, end = 10000 if files else 0, time.monotonic() + seconds
while time.monotonic() < end:
    kind, size = random.choices(kinds, [1, 9, 4, 9, 1])[0]
    space = os.statvfs(top)
    while files and space.f_bavail < space.f_blocks * 0.12:
        os.unlink(files.pop(random.randrange(len(files) // 2 + 1)))
        space = os.statvfs(top)
    number += 1
    files.append(f"{top}/{kind % number}")
    with open(files[-1], "wb") as file:
        file.write(bytes(int(size * random.uniform(0.1, 2))))
        if number % 4 == 0:
            os.fsync(file.fileno())
    if seconds > 30:
        time.sleep(random.uniform(0, 0.03))
PYTHON
python3 writer.py "$fs" 25
umount "$fs"
mount "$loop" "$fs"
tmux -L "picture-$$" new-session -d -x 110 -y 36 \
    "LC_ALL=C.UTF-8 exec $e4replay watch --max-freeze 60s -p linux-6.12,linux-6.1 $fs"
python3 writer.py "$fs" 75 &
sleep 72
tmux -L "picture-$$" capture-pane -p -e -N | python3 "$html" >page.html
chromium --headless --no-sandbox --hide-scrollbars --window-size=900,640 --force-device-scale-factor=1.5 \
    --screenshot="$out" "file://$PWD/page.html" >/dev/null 2>chromium.err || bad "$(cat chromium.err)"
wait
