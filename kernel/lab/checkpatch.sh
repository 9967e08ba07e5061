#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the kernel's own checkpatch on the patches of a series.
#
# Usage: checkpatch.sh SERIES
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/series.sh
source "$lab_dir/lib/series.sh"
{ [ $# = 1 ] && [[ $1 != -* ]]; } || usage
need perl
open_series "$1"
# checkpatch writes a list of names to the current directory.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
count=0
while read -r patch; do
    count=$((count + 1))
    # Ignore MAINTAINERS entries of new files, and the commits of Fixes:, which are not in the lab's repository
    # of one commit.
    ignore=FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID
    # checkpatch does not know the style of trace headers.
    if grep -q '^+++ b/include/trace/' "$patches_dir/$patch"; then ignore+=,SPACING,SPLIT_STRING; fi
    # ext4 collects the exports for its KUnit module in one block, not behind each function.
    if grep -q '^+EXPORT_SYMBOL_FOR_EXT4_TEST(' "$patches_dir/$patch"; then ignore+=,EXPORT_SYMBOL; fi
    path=$(realpath "$patches_dir/$patch")
    (cd "$scratch" && perl "$base_tree/scripts/checkpatch.pl" --root "$base_tree" --quiet --no-summary \
        --ignore "$ignore" "$path") || {
        note "$patch: see above"
        bad=$((bad + 1))
    }
done < <(patches)
[ $bad = 0 ] || die "$bad of $count patches are not clean"
note "$count patches clean"
