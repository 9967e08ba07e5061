#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Applies a series to the fetched source, in a separate tree and on a throw-away branch.
#
# Usage: apply.sh SERIES
#   SERIES   a topic of kernel/series/6.1.series, several topics separated by commas, or "all"; for another
#            base, prefixed by its number (6.12-trace-inputs)
#
# Patches must apply without fuzz. On a base other than 6.1, git falls back to a three-way merge with the files of 6.1.
# These must have been fetched. Stops at the first patch that does not apply, and names it. If the tree already has the
# same patches, does not change it. Prints the path of the tree.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/series.sh
source "$lab_dir/lib/series.sh"
{ [ $# = 1 ] && [[ $1 != -* ]]; } || usage
name=$1
[ "$name" != base ] || die "'base' is the tree without patches"
need git
open_series "$name"
tree=$(tree_of "$name")
mapfile -t series < <(patches)
[ ${#series[@]} -gt 0 ] || die "series '$name' has no patches"
for patch in "${series[@]}"; do
    [ -e "$patches_dir/$patch" ] || die "$patch is listed in $series_file but not there"
    grep -q '^Subject: ' "$patches_dir/$patch" || die "$patch is not a mail with a description"
done

stamp=$({
    git -C "$base_tree" rev-parse base
    for patch in "${series[@]}"; do sha256sum <"$patches_dir/$patch"; done
} | sha256sum | cut -d' ' -f1)
branch=series/$name
# If two processes apply the same series, the second one waits here, and then finds the series already applied.
hold "$E4R_LAB/apply.$name.lock"
marker=$E4R_LAB/applied.$name
if [ -d "$tree" ] && [ "$(cat "$marker" 2>/dev/null)" = "$stamp" ] &&
    [ -z "$(git -C "$tree" status --porcelain -uno)" ]; then
    note "$name: ${#series[@]} patches applied already"
    echo "$tree"
    exit
fi

rm -f "$marker"
# fetch.sh --again replaces the repository to which this worktree belongs. The objects in the worktree were then built
# from other sources, so start over.
git -C "$tree" rev-parse -q --verify HEAD >/dev/null 2>&1 || rm -rf "$tree"
if [ -d "$tree" ]; then
    git -C "$tree" am --abort 2>/dev/null || true
    git -C "$tree" checkout -q --force -B "$branch" base
else
    git -C "$base_tree" worktree prune
    git -C "$base_tree" worktree add -q --force -B "$branch" "$tree" base
fi

# am HOW PATCH: applies a patch with git am. Leaves the tree unchanged if the patch does not apply.
am() {
    git -C "$tree" am -q "$1" --committer-date-is-author-date "$patches_dir/$2" \
        >"$E4R_LAB/apply.log" 2>&1 && return
    git -C "$tree" am --abort
    return 1
}

# merge PATCH: applies a patch to a base other than 6.1 by a three-way merge. The merge needs the file versions for
# which the patch was made, so this function first fetches the 6.1 tree with all series.
have_6_1=0
merge() {
    [ "$base_tree" != "$(tree_of base)" ] || return 1
    if [ $have_6_1 = 0 ]; then
        "$lab_dir/apply.sh" all >/dev/null || return 1
        git -C "$base_tree" fetch -q "$(tree_of base)" +series/all:refs/lab/6.1 || return 1
        have_6_1=1
    fi
    am --3way "$1"
}

for patch in "${series[@]}"; do
    am --no-3way "$patch" || merge "$patch" || {
        cat "$E4R_LAB/apply.log" >&2
        die "$patch does not apply to $(git -C "$tree" log -1 --format=%s base)"
    }
done
echo "$stamp" >"$marker"
note "$name: ${#series[@]} patches applied"
echo "$tree"
