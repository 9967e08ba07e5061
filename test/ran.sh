#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Says how many tests of a ctest run passed, and which did not run and why.
#   test/ran.sh RESULTS [FLOOR]    RESULTS: what `ctest --output-junit` wrote
# A skipped test is no test that passed: ctest's own "100% tests passed ... out of N" counts it.
# Fails when fewer than FLOOR passed or any failed.
set -euo pipefail
{ [ $# -ge 1 ] && [ $# -le 2 ]; } || { sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2; }
[ -s "$1" ] || { echo "ran.sh: no results in $1: did ctest run?" >&2 && exit 1; }
awk -v floor="${2:-0}" '
    # gtest says the reason on the line behind "FILE:LINE: Skipped"; others have a last line.
    function attribute(name) {
        if (!match($0, " " name "=\"[^\"]*\"")) return ""
        return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
    }
    function end_case() {
        if (status == "run") ++passed
        else if (status == "fail") { ++failed; print "  failed: " name }
        else { ++skipped; print "  did not run: " name ": " (reason != "" ? reason : last) }
        status = ""
    }
    /<testcase / {
        status = attribute("status"); name = attribute("name"); reason = last = ""; skip_line = 0
        if (status == "") status = "unknown"
    }
    status != "" && /^ *<(skipped|failure) / { last = attribute("message") }
    status != "" && skip_line && reason == "" && !/^ *$/ { reason = $0; sub(/<.*/, "", reason) }
    status != "" && /: Skipped *$/ { skip_line = 1 }
    status != "" && last == "" && /<system-out>/ { last = $0; gsub(/^.*<system-out>|<.*/, "", last) }
    # ctest calls a program that is missing "notrun", as it does a skipped test, and fails.
    status == "notrun" && last ~ /^Unable to find/ { status = "fail" }
    /<\/testcase>/ { end_case() }
    END {
        printf "%d tests ran and passed, %d failed, %d did not run\n", passed, failed, skipped
        if (failed) exit 1
        if (passed < floor) {
            printf "ran.sh: %d tests passed, the floor is %d\n", passed, floor >"/dev/stderr"
            exit 1
        }
    }' "$1"
