#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the number of tests that passed in a ctest run, and the tests that did not run, with the reasons.
#   test/ran.sh RESULTS [FLOOR]    RESULTS: the output file of `ctest --output-junit`
# If GoogleTest recorded the cases of a ctest entry (cases/ENTRY.xml in the directory of RESULTS, with "__" for a
# slash), each case counts; any other ctest entry is one test. A skipped test does not count as passed, although ctest's
# own "100% tests passed ... out of N" counts it. Fails if fewer than FLOOR tests passed, or if any test failed.
set -euo pipefail
{ [ $# -ge 1 ] && [ $# -le 2 ]; } || { sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2; }
[ -s "$1" ] || { echo "ran.sh: no results in $1: did ctest run?" >&2 && exit 1; }
shopt -s nullglob
awk -v floor="${2:-0}" '
    function attribute(name) {
        if (!match($0, " " name "=\"[^\"]*\"")) return ""
        return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    function count(status, name, why) {
        if (status == "run") ++passed
        else if (status == "fail") { ++failed; print "  failed: " name }
        else { ++skipped; print "  did not run: " name ": " why }
    }

    function end_case() {
        ++cases[suite]
        if (status == "fail") bad[suite] = 1
        count(status, name, reason)
    }

    # In a file of GoogleTest, each case has one line, followed by its failures or the reason why it was skipped.
    FNR == 1 {
        of_ctest = FILENAME !~ /\/cases\/[^\/]*$/
        suite = FILENAME; sub(/.*\//, "", suite); sub(/\.xml$/, "", suite); gsub(/__/, "/", suite)
        if (!of_ctest) cases[suite] = 0 # a suite without a case in this shard counts as 0 cases
    }
    !of_ctest && /<testcase / {
        name = attribute("classname") "." attribute("name")
        status = attribute("result") == "completed" ? "run" : "skip"
        reason = ""
        if (/\/>/) end_case()
    }
    !of_ctest && /<failure/ { status = "fail" }
    !of_ctest && /<skipped/ { reason = attribute("message"); sub(/^[^&]*&#x0A;/, "", reason); sub(/&#x0A;.*/, "", reason) }
    !of_ctest && /<\/testcase>/ { end_case() }
    # In the file of ctest, count entries that are not suites, and suites that ended without reporting their cases.
    of_ctest && /<testcase / {
        entry = attribute("status"); name = attribute("name"); reason = last = ""
        if (entry == "") entry = "unknown"
    }
    of_ctest && entry != "" && /^ *<(skipped|failure) / { last = attribute("message") }
    of_ctest && entry != "" && last == "" && /<system-out>/ {
        last = $0; gsub(/^.*<system-out>|<.*/, "", last)
    }
    # ctest reports a test whose program is missing as "notrun", like a skipped test, but counts it as failed.
    of_ctest && entry == "notrun" && last ~ /^Unable to find/ { entry = "fail" }
    of_ctest && /<\/testcase>/ {
        if (!(name in cases)) count(entry, name, last)
        else if (entry == "fail" && !bad[name]) count("fail", name, "")
        entry = ""
    }
    END {
        printf "%d tests ran and passed, %d failed, %d did not run\n", passed, failed, skipped
        if (failed) exit 1
        if (passed < floor) {
            printf "ran.sh: %d tests passed, the floor is %d\n", passed, floor >"/dev/stderr"
            exit 1
        }
    }' "$(dirname "$1")"/cases/*.xml "$1"
