#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test/ran.sh counts what passed: against results that ctest itself writes.
#   ran_test.sh RAN
set -euo pipefail
ran=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "ran_test: $*" >&2
    exit 1
}

# results TEST...: results.xml of a ctest run over some of the tests below.
cat >"$work/CTestTestfile.cmake" <<'TEXT'
add_test(one true)
add_test(two printf "[  SKIPPED ] not here, but nobody looks for that\n")
add_test(like-gtest printf "a.cc:7: Skipped\nno leave to attach <a> loop\n\n[  SKIPPED ] A.b\n")
set_tests_properties(like-gtest PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
add_test(by-code sh -c "exit 77")
set_tests_properties(by-code PROPERTIES SKIP_RETURN_CODE 77)
add_test(bad false)
add_test(absent /no/such/program)
add_test(switched-off true)
set_tests_properties(switched-off PROPERTIES DISABLED TRUE)
TEXT
results() {
    local IFS='|'
    rm -f "$work/results.xml"
    ctest --test-dir "$work" -R "^($*)\$" --output-junit "$work/results.xml" >/dev/null 2>&1 || true
}

# expect STATUS TEXT [FLOOR]: TEXT is a line of what ran.sh prints.
expect() {
    local status=0 out
    out=$("$ran" "$work/results.xml" "${@:3}" 2>&1) || status=$?
    [ $status = "$1" ] || fail "status $status, not $1: $out"
    grep -qF -- "$2" <<<"$out" || fail "no '$2' in: $out"
}

results one two like-gtest by-code switched-off
expect 0 "2 tests ran and passed, 0 failed, 3 did not run"
expect 0 "did not run: like-gtest: no leave to attach &lt;a&gt; loop"
expect 0 "did not run: by-code: "
expect 0 "2 tests" 2
expect 1 "2 tests passed, the floor is 3" 3
results one bad
expect 1 "failed: bad" 1
results one absent
expect 1 "1 tests ran and passed, 1 failed, 0 did not run" 1
results nothing-of-that-name
expect 1 "the floor is 1" 1
