#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that the order of effect that OrderSearch finds gives the same decisions as the order that probes recorded.
#   orders.sh COMPARE_ORDERS FILE.e4c
set -euo pipefail
result=$("$1" "$2")
echo "$result"
jq -e '.decisions > 1000 and .overlapped > 500 and .differ_recorded == 0 and .differ_found == 0' <<<"$result" >/dev/null
