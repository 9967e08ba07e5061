#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Chooses one of N things by the hash of WHAT and TEXT (such as a commit): prints a number from 0 to N-1. The same WHAT
# and TEXT always give the same number. With another WHAT, the choice is independent.
#   test/turn.sh WHAT TEXT N
set -euo pipefail
[ $# = 3 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2; exit 2; }
hash=$(sha256sum <<<"$1 $2")
echo $((16#${hash:0:8} % $3))
