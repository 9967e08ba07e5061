#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that systemd accepts the service in examples/, that systemd's security rating of it is good, and that the
# service runs e4replay with valid options.
#   service.sh E4REPLAY UNIT
# Exit status 77 without systemd-analyze.
set -euo pipefail
e4replay=$(realpath "$1") unit=$(realpath "$2")
command -v systemd-analyze >/dev/null || { echo "service.sh: no systemd-analyze here" >&2 && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
bad() { echo "service.sh: $*" >&2 && exit 1; }

sed "s,/usr/bin/e4replay,$e4replay," "$unit" >e4replay-watch@data.service
printf '[Mount]\nWhat=/dev/sdb1\nWhere=/data\n' >data.mount
systemd-analyze verify --man=no ./e4replay-watch@data.service ./data.mount >verify.out 2>&1 || bad "$(cat verify.out)"
[ ! -s verify.out ] || bad "$(cat verify.out)"
echo "ok: systemd understands the service"

systemd-analyze security --offline=yes --threshold=20 ./e4replay-watch@data.service &>security.out ||
    bad "$(grep '✗' security.out; tail -n 1 security.out)"
echo "ok: $(tail -n 1 security.out)"

# If an option were wrong, e4replay would exit with 2.
start=$(sed -n "s,^ExecStart=\(.*\) \$OPTIONS$,\1,p" e4replay-watch@data.service)
start=${start//%f/$work/none} start=${start//\/var\/lib\/prometheus\/node-exporter/$work}
read -ra command <<<"${start//%i/data}"
[ "${command[0]}" = "$e4replay" ] || bad "starts ${command[0]}"
status=0
"${command[@]}" >out 2>&1 || status=$?
[ $status = 1 ] || bad "status $status: $(cat out)"
grep -q "$work/none" out || bad "$(cat out)"
echo "ok: the service calls e4replay correctly"
