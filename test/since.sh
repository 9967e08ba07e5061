#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commit that proofs of what has changed begin at: the last one that is a day older than HEAD, or
# the first of all.
#   test/since.sh              prints it
#   test/since.sh PATH...      ends with status 0 when something below PATH has changed since, else 1
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git rev-list -1 --before=$(($(git log -1 --format=%ct HEAD) - 86400)) HEAD)
base=${base:-$(git rev-list --max-parents=0 HEAD | tail -1)}
if [ $# = 0 ]; then
    echo "$base"
else
    ! git diff --quiet "$base" HEAD -- "$@"
fi
