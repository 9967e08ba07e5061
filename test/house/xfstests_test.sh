#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the parts of `lab xfstests` that need no guest: parsing a guest's output, the tables, the choice of tests, and
# errors for bad input.
#   xfstests_test.sh TOP
set -euo pipefail
top=$1
step=$top/kernel/lab/xfstests.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export E4R_LAB=$work/lab
unset E4R_XFSTESTS

fail() {
    echo "xfstests_test: $*" >&2
    exit 1
}

# same WHAT: compares standard input with $work/got.
same() {
    diff -u - "$work/got" || fail "$1 differs"
}

# ---- The output of a guest.
results() {
    awk -f "$top/kernel/lab/lib/xfstests-results.awk" >"$work/got"
}
printf '%s\r\n' "guest: words" "xfstests: FSTYP         -- ext4" "xfstests: " \
    "xfstests: at generic/001 4" "xfstests: generic/001         5s" \
    "xfstests: at generic/002 10" "xfstests: generic/002       [not run] this test requires 5s" \
    "xfstests: at ext4/003 11" "xfstests: ext4/003       - output mismatch (see /mnt/results/ext4/003.out.bad)" \
    "[  12.000000] EXT4-fs (ubdb): unmounting" "xfstests:     --- tests/ext4/003.out  2s" \
    "xfstests:     generic/009  3s" "xfstests: at ext4/004 20" \
    "xfstests: ext4/004       [failed, exit status 1]- output mismatch (see /mnt/results/ext4/004.out.bad)" \
    "xfstests: ext4/005-a         0s" \
    "xfstests: at ext4/006 31" \
    "xfstests: ext4/006       _check_dmesg: something found in dmesg (see /mnt/results/ext4/006.dmesg)" "xfstests: " \
    "xfstests: at ext4/007 40" "xfstests: ext4/007       " "xfstests: " "xfstests: Ran: generic/001 ext4/008 9s" \
    "xfstests: Failures: ext4/003" "xfstests: Failed 3 of 7 tests" "xfstests: end 44" | results
same "results" <<'TEXT'
generic/001	pass	6	-
generic/002	notrun	1	this test requires 5s
ext4/003	fail	9	output mismatch
ext4/004	fail	0	[failed, exit status 1]- output mismatch
ext4/005-a	pass	11	-
ext4/006	fail	9	_check_dmesg: something found in dmesg
ext4/007	fail	4	no reason was printed
TEXT
# A test during which the guest ended is "running".
printf '%s\n' "xfstests: at ext4/001 4" "xfstests: ext4/001         5s" "xfstests: at ext4/002 9" | results
same "results of a guest that died" <<'TEXT'
ext4/001	pass	5	-
ext4/002	running	0	-
TEXT
printf '%s\n' "xfstests: at ext4/001 4" "xfstests: limit ext4/001 19" | results
same "results of a limit" <<'TEXT'
ext4/001	fail	15	limit: still running after 15 s
TEXT
printf '%s\n' "Kernel panic" "xfstests: mkfs failed" | results
same "results of nothing" </dev/null

# ---- Tables.
# result CONFIG TEST SIDE RESULTS...: prints a result line for each of the runs 1, 2, ... It contains $LOG and $REASON
# if they are set.
result() {
    local run=0 result
    for result in "${@:4}"; do
        run=$((run + 1))
        printf '%s\t%s\t%s\t%d\t%s\t7\t%s\t%s\n' "$1" "$2" "$3" $run "$result" "${LOG:--}" "${REASON:--}"
    done
}
# tables STATUS: makes the tables for the results on standard input, and checks the exit status.
tables() {
    local status=0
    cat >"$work/kept"
    "$step" --from "$work/kept" >"$work/got" 2>&1 || status=$?
    [ $status = "$1" ] || { cat "$work/got" && fail "status $status, not $1"; }
}
{
    echo "# stock 7.3 7.3.4-7.3-plain-g1"
    echo "# patched 7.3-all 7.3.4-7.3-all-plain-g2"
    for side in stock patched; do
        result 4k ext4/001 $side pass pass pass
        REASON="no such thing" result 4k ext4/002 $side notrun
        REASON="wrong | words" result 4k ext4/003 $side fail fail pass
    done
    REASON="lost" result 4k generic/001 stock fail fail fail
    result 4k generic/001 patched pass pass pass
    LOG="WARNING: at fs" result 4k generic/002 stock pass
    result 1k ext4/001 stock pass pass pass
    result 1k ext4/001 patched pass pass pass
} | tables 0
same "tables" <<'TEXT'
**4k**: 5 tests

| kernel | passed | failed | now and then | not run | not reached |
|---|---|---|---|---|---|
| 7.3 | 2 | 1 | 1 | 1 | 0 |
| 7.3-all | 2 | 0 | 1 | 1 | 1 |

passes that differ:

| test | 7.3 | 7.3-all | reason |
|---|---|---|---|
| generic/001 | 0 of 3 | 3 of 3 | lost |

failed on both:

| test | passes of 7.3 | of 7.3-all | reason |
|---|---|---|---|
| ext4/003 | 1 of 3 | 1 of 3 | wrong / words |

in the kernel log of tests that passed:

| test | kernel | line |
|---|---|---|
| generic/002 | 7.3 | WARNING: at fs |

**1k**: 1 tests

| kernel | passed | failed | now and then | not run | not reached |
|---|---|---|---|---|---|
| 7.3 | 1 | 0 | 0 | 0 | 0 |
| 7.3-all | 1 | 0 | 0 | 0 | 0 |

passes that differ: none

no new failure in 5 comparisons
TEXT
# A failure is new if stock passes in all runs and the patched kernel fails in one of three runs.
{
    result 4k ext4/001 stock pass pass pass
    result 4k ext4/001 patched pass fail pass
    result 4k ext4/002 stock pass fail pass
    result 4k ext4/002 patched fail fail fail
    result 4k ext4/003 stock pass pass pass
    result 4k ext4/003 patched notrun
} | tables 1
tail -2 "$work/got" >"$work/last" && mv "$work/last" "$work/got"
same "new failures" <<'TEXT'
new failures: 1
  4k ext4/001
TEXT
# If stock did not run a test ("spared") because the patched kernel passed it, there is no new failure. If the patched
# kernel did not pass and the stock run is still missing, the test was not compared.
{
    result 4k ext4/001 patched pass pass
    result 4k ext4/001 stock spared spared
    result 4k ext4/002 patched pass fail
    result 4k ext4/002 stock spared fail
    result 4k ext4/003 patched pass fail
    result 4k ext4/003 stock spared
} | tables 0
same "spared tests" <<'TEXT'
**4k**: 3 tests

| kernel | passed | failed | now and then | not run | not reached | spared |
|---|---|---|---|---|---|---|
| stock | 0 | 1 | 0 | 0 | 0 | 2 |
| patched | 1 | 0 | 2 | 0 | 0 | 0 |

passes that differ:

| test | stock | patched | reason |
|---|---|---|---|
| ext4/002 | 0 of 1 | 1 of 2 | - |

failed on both:

| test | passes of stock | of patched | reason |
|---|---|---|---|
| ext4/002 | 0 of 1 | 1 of 2 | - |

no new failure in 2 comparisons
TEXT
{
    result 4k ext4/001 patched pass fail
    result 4k ext4/001 stock spared pass
} | tables 1
result 4k ext4/001 stock pass | tables 3
echo "4k ext4/001 stock 1 pass" | tables 3
grep -q "line 1 of the results is not a result" "$work/got" || fail "said: $(cat "$work/got")"
tables 3 </dev/null

# ---- The choice of tests.
# shellcheck disable=SC2034,SC1091
choose() (
    kernel_dir=$top/kernel
    die() { echo "$*" && exit 1; }
    source "$top/kernel/lab/lib/xfstests.sh"
    choose_tests "$work/copy" "$@"
)
mkdir -p "$work/copy/tests/ext4" "$work/copy/tests/generic"
printf '# groups\n\n001 auto quick\n002 auto\n003-name auto quick aio\n' >"$work/copy/tests/ext4/group.list"
printf '001 auto quick aio\n010 auto stress\n' >"$work/copy/tests/generic/group.list"
# chosen WANTED ARGUMENT...: checks which tests these arguments choose.
chosen() {
    [ "$(choose "${@:2}" | paste -sd' ')" = "$1" ] || fail "chose $(choose "${@:2}" | paste -sd' '), not $1"
}
chosen "ext4/001 ext4/003-name generic/001" quick "" ""
chosen "ext4/001 ext4/003-name" ext4/quick "" ""
chosen "ext4/003-name generic/001" quick+aio "" ""
chosen "ext4/003-name" auto+ext4/quick+aio "" ""
chosen "ext4/001" quick aio ""
chosen "ext4/001" ext4/quick quick+aio ""
chosen "generic/001 generic/010" "" "" "generic/*"
chosen "ext4/001 ext4/002 ext4/003-name generic/001 generic/010" quick,stress "" "ext4/00?"
chosen "ext4/001 ext4/002 generic/010" all aio ""
chosen "no test 'ext4/9': give names like ext4/001 or patterns like 'generic/00?'" "" "" "ext4/9"
choose nogroup "" "" >"$work/got" && fail "took a group that does not exist"
grep -q "no group 'nogroup'" "$work/got" || fail "said: $(cat "$work/got")"

# ---- Bad input must cause one line of output and status 2.
# bad WORDS ARGUMENT...: checks that the arguments are refused, with a message that contains WORDS.
bad() {
    local status=0
    "$step" "${@:2}" >"$work/got" 2>&1 || status=$?
    [ $status = 2 ] || fail "status $status of ${*:2}"
    grep -qF -- "$1" "$work/got" || fail "${*:2}: said $(cat "$work/got")"
    [ "$1" = "Usage: " ] || [ "$(wc -l <"$work/got")" = 1 ] || fail "${*:2}: more than a line: $(cat "$work/got")"
}
mkdir -p "$work/checkout/tests/generic"
printf '#!/bin/sh\n' >"$work/checkout/check"
chmod 755 "$work/checkout/check"
good=(all --xfstests "$work/checkout")
bad "Usage: "
bad "Usage: " --help
bad "Usage: " all more
bad "Usage: " all --what is
bad "-n needs a value" "${good[@]}" -n
bad "-n '0' is not a number above 0" "${good[@]}" -n 0
bad "--limit 'x' is not a number above 0" "${good[@]}" --limit x
bad "-j '0' is not a number above 0" "${good[@]}" -j 0
bad "--time '-1' is not a number" "${good[@]}" --time -1
bad "no config '2k': give 4k, 1k or bigalloc" "${good[@]}" --config 4k,2k
bad "--config: give 4k" "${good[@]}" --config ,
bad "--size 'big' is not a size" "${good[@]}" --size big
bad "--repeat 'some': give all or differing" "${good[@]}" --repeat some
bad "--stock 'some': give all or failed" "${good[@]}" --stock some
bad "leave out --together" "${good[@]}" --stock failed --together
bad "no target 'kvm'" "${good[@]}" --target kvm
bad "which xfstests? Give --xfstests DIR" all
bad "'$work' is not a checkout of xfstests" all --xfstests "$work"
bad "'7.3' is a stock kernel: give a series" 7.3 --xfstests "$work/checkout"
bad "no file '$work/none'" --from "$work/none"
: >"$work/there"
bad "give --continue to go on with it" "${good[@]}" -o "$work/there"
bad "--continue: give -o FILE too" "${good[@]}" --continue
case $work in
/tmp/* | /var/tmp/*) bad "these guests have a /tmp" "${good[@]}" ;;
esac
