#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Finds the reference commit for tests of changes: the last commit that is at least a day older than HEAD, or the first
# commit.
#   test/since.sh              prints this commit
#   test/since.sh PATH...      exit status 0 if any file below PATH has changed since this commit, otherwise 1
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git rev-list -1 --before=$(($(git log -1 --format=%ct HEAD) - 86400)) HEAD)
base=${base:-$(git rev-list --max-parents=0 HEAD | tail -1)}
if [ $# = 0 ]; then
    echo "$base"
else
    ! git diff --quiet "$base" HEAD -- "$@"
fi
