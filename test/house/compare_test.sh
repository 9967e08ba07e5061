#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the statistics of `lab ab` with values computed by hand.
#   compare_test.sh COMPARE.AWK
set -euo pipefail
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "compare_test: $*" >&2
    exit 1
}

# table RATIO...: makes the table for pairs with these ratios. The base's value is always 200.
table() {
    local pair=0 ratio
    for ratio; do
        pair=$((pair + 1))
        echo "base $pair t 200"
        awk -v r="$ratio" -v p=$pair 'BEGIN { print "patched", p, "t", 200 * r }'
    done >"$work/values"
    awk -v A=a -v B=b -v limits="${limits:-}" -f "$script" "$work/values" >"$work/table"
}

# expect TEXT: fails unless the table contains TEXT. Several spaces in a row count as one.
expect() {
    tr -s ' ' <"$work/table" | grep -qF -- "$1" || fail "no '$1' in: $(cat "$work/table")"
}

# The median of ten ratios is between the fifth and the sixth, in any order of the ratios. The interval from the second
# to the ninth covers it with probability 1 - 2 (1 + 10) / 1024.
table 0.97 1.01 0.91 0.93 0.95 0.92 0.94 0.96 0.98 0.99
expect " 0.955 0.920-0.990 "
expect "10 pairs; the interval of the median covers 97.9 %"
# With six ratios, the interval is the whole range and covers the median with probability 1 - 2 / 64. With five ratios,
# this would be 1 - 2 / 32, which is below 95 %.
table 1.5 1.1 1.2 1.3 1.4 1.6
expect " 1.350 1.100-1.600 "
expect "covers 96.9 %"
table 1.1 1.2 1.3 1.4 1.5
expect " 1.300 - 1.29"
expect "5 pairs: too few for an interval of the median (6)"
# The logarithms are 0, 1 and 2 times log 2. Their mean and standard deviation are log 2, and t is 4.303, so the
# interval is a factor of 2 ^ (4.303 / sqrt 3) = 5.596 in both directions.
table 1 2 4
expect " 2.000 - 2.000 (0.357-11.19"
# There are 25 ratios: twelve are 1, twelve are e^2, and one is e. The geometric mean is e, the standard deviation of
# the logarithms is 1, and t is 2.064.
many=(2.7182818)
for ((i = 0; i < 12; ++i)); do many+=(1 7.3890561); done
table "${many[@]}"
expect " 2.718 1.000-7.389 2.718 (1.799-4.107)"
# A single pair has no interval. If the base's value is 0, a pair has no ratio.
table 1.25
expect " 1.250 - -"
printf '%s\n' "base 1 t 0" "patched 1 t 3" "base 1 u 2" "patched 1 u 0" >"$work/zero"
awk -v A=a -v B=b -v limits="u=0.1" -f "$script" "$work/zero" >"$work/table"
expect "t 0 (0-0) 3 (3-3) - - -"
expect "u 2 (2-2) 0 (0-0) 0.000 - -"
# Tests limits.
limits="t=0.9" table 0.8 0.85 0.95
status=0
limits="t=0.9" table 0.8 0.91 0.95 2>/dev/null || status=$?
[ $status = 3 ] || fail "status $status, not 3, for a ratio that is not below its limit"
