#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unpacks bundled captures for tests of commands that read a start image and a trace. Checks traces/ against its
# MANIFEST, and writes IMAGE.img, NAME.e4t.zst and the tables of the kernel into DIR. If the MANIFEST marks a capture as
# text, the trace is NAME.trace.zst instead. This is the recorded text if traces/ has it, or else a text made from the
# capture. If traces/ has the complete start image, the image includes inodes. Keeps files that exist and are up to
# date.
#   test/support/unpack_captures.sh E4REPLAY DIR [NAME...]    default: all
set -euo pipefail
[ $# -ge 2 ] || {
    echo "usage: unpack_captures.sh E4REPLAY DIR [NAME...]" >&2
    exit 2
}
traces=$(cd "$(dirname "$0")/../../traces" && pwd)
e4replay=$1 dest=$2
shift 2
mkdir -p "$dest"

mapfile -t known < <(awk '$1 == "capture" { print $2 }' "$traces/MANIFEST")
(cd "$traces" && sed -n 's/^sha256 //p' MANIFEST | sha256sum --check --quiet --strict)
for name in "${@:-${known[@]}}"; do
    # Find the start image of the capture. Several captures may have the same one.
    read -r image kind < <(awk -v name="$name" '$1 == "capture" && $2 == name { print $3, $5 }' "$traces/MANIFEST") ||
        true
    [ -n "$image" ] || {
        echo "unpack_captures.sh: no capture '$name': there are ${known[*]}" >&2
        exit 1
    }
    sums=$(awk -v name="$name." '$1 == "sha256" && index($3, name) == 1' "$traces/MANIFEST")
    [ "$(cat "$dest/$name.done" 2>/dev/null)" != "$sums" ] || continue
    rm -f "$dest/$image.img" "$dest/$name."*
    "$e4replay" trace convert "$traces/$name.e4c" "$dest/$name.e4t.zst" --image "$dest/$image.img" >/dev/null
    [ ! -e "$traces/$image.image.tar.zst" ] || zstd -dcq "$traces/$image.image.tar.zst" | tar -xS -C "$dest"
    if [ -e "$traces/$name.trace.zst" ]; then
        cp "$traces/$name.trace.zst" "$dest/"
    elif [ "$kind" = text ]; then
        "$e4replay" trace convert "$dest/$name.e4t.zst" "$dest/$name.txt.zst" >/dev/null
        mv "$dest/$name.txt.zst" "$dest/$name.trace.zst"
    fi
    [ "$kind" != text ] || rm "$dest/$name.e4t.zst"
    echo "$sums" >"$dest/$name.done"
done
