#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the figures of docs/studies/timeline.md: bundled workloads under the policy of every kernel from 4.18 to
# 7.3.
#   timeline.sh [--captures "NAME..."] [--all] [BUILD]
# Prints a tab-separated table. NAMEs: default posting-256g and churn-ext3-6.4. --all: also kernels whose figures are
# those of the one above, which are left out otherwise. BUILD: default build/release. E4REPLAY names another program.
# Takes a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
captures='posting-256g churn-ext3-6.4' all='' build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --captures) captures=$2 && shift ;;
    --all) all=yes ;;
    -*) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done

# Policy, the first release with its rules, and the rules of docs/kernels.md that it has.
kernels() {
    cat <<'END'
el8             4.18     A B C D E F H P
linux-5.4.244   5.4.244  A B C D H K P
linux-5.4.274   5.4.274  A B C D H P
linux-5.10.0    5.9      A E F H P
linux-5.10.181  5.10.181 A H K P
linux-5.10.215  5.10.215 A H P
linux-5.15.0    5.13     E F G P Q R
linux-5.15.33   5.15.33  E F G H P Q
linux-5.15.71   5.15.71  E F G H
linux-5.15.113  5.15.113 G H K
linux-5.15.154  5.15.154 G H
linux-5.15.202  5.15.202 G
linux-6.1.0     6.0      E F H I
linux-6.1.30    6.1.30   H I K
linux-6.1.84    6.1.84   H I
linux-6.1.149   6.1.149  H
legacy          6.1.165  -
linux-6.4       6.4      H I J K
linux-6.5       6.5      H I J K L
linux-6.6.0     6.6      H I J K L
linux-6.6.24    6.6.24   H I J L
linux-6.6.103   6.6.103  H J L
linux-6.6.128   6.6.128  J L
linux-6.8       6.8      H I J K L
linux-6.14      6.9      H I J L
linux-6.12.43   6.12.43  H J L
linux-6.12.77   6.12.77  J L M
linux-6.17      6.17     H J L M N
linux-7.3       6.18.10  J L M N
END
}

policies=$(kernels | awk '{ print $1 }' | paste -sd,)
printf 'capture\tpolicy\tsince\trules\trequests\tgroups considered per request\textents scanned per request\textents per file\tfree extents\n'
for capture in $captures; do
    "${E4REPLAY:-$build/tools/e4replay}" replay "traces/$capture.e4c" -p "$policies" --json - --no-progress 2>/dev/null |
        jq -r '.runs[] | [.policy, .requests, .groups_considered, .mb_stats.extents_scanned,
                          .files.extents, .files.count, .free_extents.count] | @tsv' |
        paste <(kernels) - |
        awk -F'\t' -v capture="$capture" -v all="$all" '
            {
                split($1, kernel, " ")
                rules = $1
                sub(/^[^ ]+ +[^ ]+ +/, "", rules)
                if (kernel[1] != $2) { print "timeline.sh: the rows are mixed up" > "/dev/stderr"; exit 1 }
                figures = $3 "\t" sprintf("%.3f\t%.3f\t%.3f", $4 / $3, $5 / $3, $6 / $7) "\t" $8
                if (figures != before || all) print capture "\t" kernel[1] "\t" kernel[2] "\t" rules "\t" figures
                before = figures
            }'
done
