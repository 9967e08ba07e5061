#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unpacks the bundled captures: checks them against traces/MANIFEST and lays start images (sparse),
# traces and the kernel's own tables side by side, ready for e4replay. What is there and unchanged is
# left alone.
#   tools/unpack_captures.sh DIR [NAME...]    default: all
set -euo pipefail
[ $# -ge 1 ] || {
    echo "usage: unpack_captures.sh DIR [NAME...]" >&2
    exit 2
}
traces=$(cd "$(dirname "$0")/../traces" && pwd)
dest=$1
shift
mkdir -p "$dest"

# Start image of a capture, as the MANIFEST names it.
image_of() {
    awk -v name="$1" '$1 == "capture" && $2 == name { print $3 }' "$traces/MANIFEST"
}

mapfile -t known < <(awk '$1 == "capture" { print $2 }' "$traces/MANIFEST")
(cd "$traces" && sed -n 's/^sha256 //p' MANIFEST | sha256sum --check --quiet --strict)
for name in "${@:-${known[@]}}"; do
    image=$(image_of "$name")
    [ -n "$image" ] || {
        echo "unpack_captures.sh: no capture '$name': there are ${known[*]}" >&2
        exit 1
    }
    sums=$(awk -v name="$name." -v image="$image.image.tar.zst" \
        '$1 == "sha256" && (index($3, name) == 1 || $3 == image)' "$traces/MANIFEST")
    if [ "$(cat "$dest/$name.done" 2>/dev/null)" != "$sums" ]; then
        rm -f "$dest/$image.img"
        zstd -dcq "$traces/$image.image.tar.zst" | tar -xS -C "$dest"
        for file in "$traces/$name".*; do
            case $file in
            *.image.tar.zst) ;;
            *.trace.zst | *.e4t.zst) cp "$file" "$dest/" ;;
            *.zst) zstd -dqf "$file" -o "$dest/$(basename "${file%.zst}")" ;;
            *) cp "$file" "$dest/" ;;
            esac
        done
        echo "$sums" >"$dest/$name.done"
    fi
done
