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
# Run checkpatch in a scratch directory, because it writes a list of names to the current directory.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
count=0

# except TYPE REASON: keeps checkpatch from reporting messages of this type for the current patch. At its end, the
# script prints all these types and reasons.
declare -A reasons=()
except() {
    ignore+=,$1
    reasons[$1]=$2
}

while read -r patch; do
    count=$((count + 1))
    ignore=
    except MISSING_SIGN_OFF "a Signed-off-by is added by the person who posts the patch"
    except FILE_PATH_CHANGES "the files of a subsystem are covered by its MAINTAINERS entry"
    except UNKNOWN_COMMIT_ID "the lab's repository has no history to look up the ids of Fixes:"
    if grep -q '^+++ b/include/trace/' "$patches_dir/$patch"; then
        except SPACING "trace headers have their own style"
        except SPLIT_STRING "trace headers have their own style"
    fi
    if grep -q '^+EXPORT_SYMBOL_FOR_EXT4_TEST(' "$patches_dir/$patch"; then
        except EXPORT_SYMBOL "ext4 collects the exports for its KUnit module in one block"
    fi
    if grep -q '^\[ Upstream commit [0-9a-f]* \]$' "$patches_dir/$patch"; then
        except GIT_COMMIT_ID "a backport names its commit as stable kernels do"
    fi
    path=$(realpath "$patches_dir/$patch")
    (cd "$scratch" && perl "$base_tree/scripts/checkpatch.pl" --root "$base_tree" --quiet --no-summary \
        --ignore "${ignore#,}" "$path") || {
        note "$patch: see above"
        bad=$((bad + 1))
    }
done < <(patches)
[ $bad = 0 ] || die "$bad of $count patches are not clean"
for type in "${!reasons[@]}"; do note "not reported: $type (${reasons[$type]})"; done | sort >&2
note "$count patches clean"
