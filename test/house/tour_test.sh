#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the tour of docs/index.md and the commands of tools/tune2fs-lazy/README.md unchanged. Leaves out commands that
# need root or a kernel tree. Compares the output that README.md, docs/data.md, docs/using.md and docs/shrinker.md show
# with the real output.
#   tour_test.sh SOURCE TOOLS CAPTURES
set -euo pipefail
source=$(realpath "$1") captures=$(realpath "$3")
PATH=$(realpath "$2"):$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

sed -n '/^## A tour by task/,/^## For/p' "$source/docs/index.md" | sed -n 's/^    //p' |
    grep -vE '^e4replay (record|kernel) |kernel:' | sed "s, /tmp, $work/tour,; s, traces/, $source/traces/," >"$work/commands"
mkdir "$work/tour"
steps=$(wc -l <"$work/commands")
[ "$steps" -ge 14 ] || { echo "tour_test: $steps steps" >&2 && status=1; }
bash -e -x "$work/commands" >"$work/said" 2>&1 || {
    tail -3 "$work/said" >&2
    echo "tour_test: the tour of docs/index.md ended" >&2
    status=1
}

# Run the commands of tools/tune2fs-lazy/README.md on an image. (verify exits with 3 if a flag is false.)
mkdir "$work/lazy"
sed -n 's/^    //p' "$source/tools/tune2fs-lazy/README.md" >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 4 ] || { echo "tour_test: tune2fs-lazy has fewer commands" >&2 && status=1; }
(cd "$work/lazy" && bash -e -x "$work/commands" >"$work/said" 2>&1) || {
    tail -3 "$work/said" >&2
    echo "tour_test: the commands of tools/tune2fs-lazy/README.md ended" >&2
    status=1
}

# An example is the output after a line " $ e4replay ..." or " $ sqlite3 ...". It ends at an empty line after which the
# code block does not continue.
ln -s "$captures"/* "$work"
ln -s "$source/traces" "$work/traces"
shown=0
export LC_ALL=C.UTF-8 # for the characters with which `map` draws
for page in README.md docs/using.md docs/data.md docs/shrinker.md; do
    rm -f "$work"/example.*
    awk -v to="$work/example." '/^[^ ]/ { inside = 0 }
        /^    \$ (e4replay|sqlite3)/ { inside = 1; ++count }
        inside && /^    / { print substr($0, 5) >(to count) }' "$source/$page"
    for example in "$work"/example.*; do
        command=$(sed -n '1s/^\$ //p' "$example")
        (cd "$work" && bash -c "$command") >"$work/output"
        while IFS= read -r line; do
            [[ -z $line || $line == ...* ]] && continue
            shown=$((shown + 1))
            grep -qxF -e "$line" "$work/output" || {
                echo "tour_test: $page shows what '$command' does not print: $line" >&2
                status=1
            }
        done < <(tail -n +2 "$example")
    done
done
[ $shown -ge 50 ] || { echo "tour_test: $shown lines of output shown" >&2 && status=1; }
exit $status
