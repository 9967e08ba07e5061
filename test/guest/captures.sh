# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Functions for the bundled captures (traces/MANIFEST). Sourced by the prove*.sh scripts.

# captures_of AWK: prints the names of the captures for which the awk condition is true ($2 is the name, $3 the image,
# $4 the kernel). Skips captures with blocks of 64 KiB, because the code runs with pages of 4 KiB and cannot mount them.
captures_of() {
    awk "\$1 == \"capture\" && \$5 != \"pages-of-64k\" && ($1) { print \$2 }" traces/MANIFEST
}

# unpack NAME: unpacks a capture. Sets $image and $trace to the files of its start image and its trace.
unpack() {
    test/support/unpack_captures.sh "$e4replay" "$dir/captures" "$1"
    # shellcheck disable=SC2034 # used by the scripts that source this
    image=$dir/captures/$(awk -v name="$1" '$1 == "capture" && $2 == name { print $3 }' traces/MANIFEST).img
    trace=$(find "$dir/captures" \( -name "$1.e4t*" -o -name "$1.trace*" \) -print -quit)
    [ -e "$trace" ] || die "$1 has no trace"
}

# recorded_captures: prints the names of the captures that `e4replay record` made of file systems that were already
# mounted.
recorded_captures() {
    awk '$1 == "recorded" { print $2 }' traces/MANIFEST
}
