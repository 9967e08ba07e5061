#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that man formats every page without a warning, that its NAME section has the name of the file, and that the
# pages to which it refers exist.
#   manual_layout_test.sh PAGES
# Skipped (77) if man is not installed.
set -euo pipefail
pages=$1
command -v man >/dev/null || { echo "no man here" && exit 77; }
status=0
complain() {
    echo "manual_layout_test: $*" >&2
    status=1
}
count=0
for page in "$pages"/*.[158]; do
    count=$((count + 1))
    name=${page##*/}
    warnings=$(MANROFFSEQ='' MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || complain "$name: $warnings"
    text=$(MANWIDTH=80 LC_ALL=C.UTF-8 man -P cat -l "$page" 2>/dev/null | tr -s ' \n' ' ')
    [[ $text == *"${name%.*} - "* ]] || complain "$name: its section NAME has another name"
    while read -r reference; do
        [ -e "$pages/$reference" ] || complain "$name refers to $reference, which does not exist"
    done < <(sed 's/\\-/-/g; s/\\f[BIR]//g' "$page" |
        grep -oE '\b(e4replay|e4c|e4t|mke2fs-lazy|tune2fs-lazy)(-[a-z]+)? ?\([158]\)' |
        tr -d ' )' | tr '(' . | sort -u)
done
[ "$count" -ge 15 ] || complain "$count pages"
exit "$status"
