#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the captures of traces/corpus. They must be exactly the captures in its MANIFEST, unchanged and small enough.
# For each, the model must agree with at least as many decisions as the MANIFEST states.
#   followed.sh E4REPLAY CORPUS
set -euo pipefail
export LC_ALL=C
e4replay=$(realpath "$1")
cd "$2"

fail() {
    echo "corpus: $*" >&2
    exit 1
}

sed -n 's/^sha256 //p' MANIFEST | sha256sum --check --quiet --strict || fail "a capture has changed"
there=$(printf '%s\n' *.e4c)
[ "$there" = "$(awk '$1 == "sha256" { print $3 }' MANIFEST)" ] || fail "checksums are of other captures than there are"
[ "$there" = "$(awk '$1 == "capture" { print $2 ".e4c" }' MANIFEST | sort)" ] || fail "rows are of other captures"
count=$(wc -l <<<"$there")
[ "$count" -ge 80 ] || fail "only $count captures"
size=$(cat ./*.e4c | wc -c)
[ "$size" -le $((20 << 20)) ] || fail "the captures have $size bytes"
while read -r name decisions identical; do
    answer=$("$e4replay" verify "$name.e4c" --no-progress --json - 2>/dev/null) || [ $? = 3 ] || fail "$name: verify failed"
    # Take the number of requests of the first run, and how many of them are identical.
    now=$(awk '/"agreement": / { on = 1 }
        on && sub(/^ *"requests": /, "") { requests = $0 + 0 }
        on && sub(/^ *"identical": /, "") { print requests, $0 + 0; exit }' <<<"$answer")
    [ "${now% *}" = "$decisions" ] || fail "$name: ${now% *} decisions, MANIFEST says $decisions"
    [ "${now#* }" -ge "$identical" ] || fail "$name: ${now#* } of $decisions followed, MANIFEST says $identical"
done < <(awk '$1 == "capture" { print $2, $(NF - 1), $NF }' MANIFEST)
