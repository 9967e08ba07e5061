#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Chooses one of N that is due for TEXT (such as a commit): prints a number from 0 to N-1, the same for the same WHAT
# and TEXT. Another WHAT gives an independent choice.
#   test/turn.sh WHAT TEXT N
set -euo pipefail
[ $# = 3 ] || { sed -n 's/^#   test/usage: test/p' "$0" >&2; exit 2; }
hash=$(sha256sum <<<"$1 $2")
echo $((16#${hash:0:8} % $3))
