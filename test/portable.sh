#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the portable e4replay (tools/portable.sh) and tests both files. The file for x86_64 must pass the golden tests,
# and must run in an empty root directory (test/record/portable.sh). The file for aarch64 runs under qemu-user. It must
# be able to record, and must print the same as the file for x86_64.
#   test/portable.sh
# Installs packages. Does not install qemu, but unpacks it below build/portable. Needs root and Debian 12 on amd64.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=test/foreign.sh
source test/foreign.sh
[ $# = 0 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2; }
dir=$PWD/build/portable

tools/setup.sh test
rm -f "$dir"/e4replay-*
tools/portable.sh
files=("$dir"/e4replay-*-x86_64 "$dir"/e4replay-*-aarch64)
file -b "${files[@]}"
[ "$(file -b "${files[@]}" | grep -cE 'static-pie linked|statically linked')" = 2 ] || {
    echo "portable.sh: file(1) does not call both static" >&2
    exit 1
}

if tools/portable.sh --check "$(command -v file)" 2>/dev/null; then
    echo "portable.sh: tools/portable.sh accepts a program with shared libraries" >&2
    exit 1
fi

# Runs the golden tests that need only this program. Other golden tests make file systems, hunt or record.
golden() {
    local case
    test/support/unpack_captures.sh "${files[0]}" "$dir/captures" >/dev/null
    for case in test/golden/*/cmd; do
        ! grep -qE '_lazy|hunt|record --' "$case" || continue
        test/golden/run_case.sh "$PWD/$(dirname "$case")" "${files[0]}" "$dir/captures"
        cases=$((cases + 1))
    done
}

# under_qemu ARGUMENT...: runs both files with these arguments. Checks that they print the same and have the same exit
# status.
under_qemu() {
    local machine status
    for machine in 0 1; do
        status=0
        "${qemu[@]:0:machine}" "${files[machine]}" "$@" >"$dir/printed" 2>&1 || status=$?
        sed '/^time, s/d' "$dir/printed" >"$dir/printed.$machine"
        echo "status $status" >>"$dir/printed.$machine"
    done
    diff -u "$dir/printed.0" "$dir/printed.1" || {
        echo "portable.sh: e4replay $* differs on aarch64" >&2
        exit 1
    }
    commands=$((commands + 1))
}

[ -e "$dir/qemu.done" ] || unpack "$dir/qemu" qemu-user-static
qemu=("$dir/qemu/usr/bin/qemu-aarch64-static")
cases=0
golden
test/record/portable.sh "${files[0]}" "${qemu[@]}" "${files[1]}"
commands=0
for capture in traces/{churn-4k-6.8,churn-4k-el8,aged-1k,fill-4k-enospc}.e4c; do
    for command in "replay $capture -p legacy,cr1.5 --no-progress" "verify $capture --no-progress" \
        "info $capture" "freefrag $capture" "map $capture"; do
        # shellcheck disable=SC2086 # word splitting is intended
        under_qemu $command
    done
done
under_qemu --version
under_qemu policies
echo "portable.sh: $cases golden tests passed, and $commands commands did the same on aarch64 as on x86_64"
