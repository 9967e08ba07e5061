#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one golden test: compares the output of CASE/cmd with CASE/expect.
#   run_case.sh CASE E4REPLAY CAPTURES       with UPDATE=1: writes CASE/expect instead
# `cmd` runs in bash in an empty directory. It can use $e4replay, and $tune2fs_lazy and $mke2fs_lazy from the same
# directory, $traces (the bundled captures), $captures (their unpacked images and traces), and two functions. `run` runs
# a command and prints its exit status after its output. `same_image` fails, and says so, if two images differ. In the
# output, times become T, directories become their names, and the list of all policies becomes "...".
set -euo pipefail
case_dir=$1
export e4replay=$2 captures=$3 data=$1
traces=$(realpath "$case_dir/../../../traces")
export traces
tools=$(dirname "$e4replay")
export tune2fs_lazy=$tools/tune2fs-lazy mke2fs_lazy=$tools/mke2fs-lazy
export TZ=UTC LC_ALL=C LANGUAGE=C COLUMNS=80

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
    local status=0
    "$@" 2>&1 || status=$?
    echo "exit status $status"
}
same_image() {
    "$traces/../test/support/same_image.py" "$1" "$2"
}
export -f run same_image

(cd "$work" && bash -c "$(cat "$case_dir/cmd")") >"$work.out" 2>&1 </dev/null || true
sed -E -e "s#$tune2fs_lazy#tune2fs-lazy#g; s#$mke2fs_lazy#mke2fs-lazy#g" \
    -e "s#$e4replay#e4replay#g; s#$captures/?##g; s#$traces/?##g; s#$work/?##g" \
    -e "s/(unknown policy '[^']*': choose from ).*/\1.../" \
    -e '/^time, s/s/ +[0-9]+\.[0-9]+/ T/g' \
    -e 's/("(ready_s|elapsed_s|requests_per_s)": )[0-9.e+-]+/\1"T"/' "$work.out" >"$work.got"
rm -f "$work.out"
if [ -n "${UPDATE:-}" ]; then
    mv "$work.got" "$case_dir/expect"
elif diff -u "$case_dir/expect" "$work.got"; then
    rm -f "$work.got"
else
    rm -f "$work.got"
    echo "golden: $(basename "$case_dir") differs (UPDATE=1 $0 ... writes it anew)" >&2
    exit 1
fi
