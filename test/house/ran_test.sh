#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests test/ran.sh on results that ctest itself has written.
#   ran_test.sh RAN
set -euo pipefail
ran=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "ran_test: $*" >&2
    exit 1
}

# results TEST...: makes the results.xml of a ctest run with some of the tests below.
cat >"$work/CTestTestfile.cmake" <<'TEXT'
add_test(one true)
add_test(two printf "[  SKIPPED ] not here, but nobody looks for that\n")
add_test(Suite true)
add_test(Bad/Suite false)
add_test(Ended false)
add_test(by-code sh -c "exit 77")
set_tests_properties(by-code PROPERTIES SKIP_RETURN_CODE 77)
add_test(bad false)
add_test(absent /no/such/program)
add_test(switched-off true)
set_tests_properties(switched-off PROPERTIES DISABLED TRUE)
TEXT
# GoogleTest's output for three suites. In the first, one case passes and two are skipped. In the second, one of two
# cases fails. In the third, all cases pass, but the program ends with an error.
mkdir "$work/cases"
cat >"$work/suite.xml" <<'TEXT'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="0" name="AllTests">
  <testsuite name="Suite" tests="3" failures="0" skipped="2">
    <testcase name="Runs" status="run" result="completed" time="0" classname="Suite" />
    <testcase name="Loops" status="run" result="skipped" time="0" classname="Suite">
      <skipped message="a.cc:7&#x0A;not allowed to attach &lt;a&gt; loop&#x0A;"><![CDATA[a.cc:7
not allowed to attach <a> loop
]]></skipped>
    </testcase>
    <testcase name="Off" status="notrun" result="suppressed" time="0" classname="Suite" />
  </testsuite>
</testsuites>
TEXT
cat >"$work/bad.xml" <<'TEXT'
    <testcase name="Runs" status="run" result="completed" time="0" classname="Bad/Suite" />
    <testcase name="Fails" status="run" result="completed" time="0" classname="Bad/Suite">
      <failure message="a.cc:9&#x0A;no" type=""><![CDATA[a.cc:9
no]]></failure>
    </testcase>
TEXT
sed 's/Suite/Ended/' "$work/suite.xml" >"$work/ended.xml"
declare -A written=([Suite]=suite.xml [Bad/Suite]=bad.xml [Ended]=ended.xml)
results() {
    local IFS='|'
    rm -f "$work/results.xml" "$work"/cases/*
    for suite in "$@"; do
        [ -z "${written[$suite]:-}" ] ||
            cp "$work/${written[$suite]}" "$work/cases/${suite//\//__}.xml"
    done
    ctest --test-dir "$work" -R "^($*)\$" --output-junit "$work/results.xml" >/dev/null 2>&1 || true
}

# expect STATUS TEXT [FLOOR]: fails unless ran.sh ends with STATUS and prints the line TEXT.
expect() {
    local status=0 out
    out=$("$ran" "$work/results.xml" "${@:3}" 2>&1) || status=$?
    [ $status = "$1" ] || fail "status $status, not $1: $out"
    grep -qF -- "$2" <<<"$out" || fail "no '$2' in: $out"
}

results one two Suite by-code switched-off
expect 0 "3 tests ran and passed, 0 failed, 4 did not run"
expect 0 "did not run: Suite.Loops: not allowed to attach &lt;a&gt; loop"
expect 0 "did not run: Suite.Off: "
expect 0 "did not run: by-code: "
expect 0 "3 tests" 3
expect 1 "3 tests passed, the floor is 4" 4
results one Bad/Suite
expect 1 "failed: Bad/Suite.Fails" 1
expect 1 "2 tests ran and passed, 1 failed, 0 did not run" 1
results Ended
expect 1 "failed: Ended" 1
expect 1 "1 tests ran and passed, 1 failed, 2 did not run" 1
results one bad
expect 1 "failed: bad" 1
results one absent
expect 1 "1 tests ran and passed, 1 failed, 0 did not run" 1
results nothing-of-that-name
expect 1 "the floor is 1" 1
