#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that CMakeLists.txt, CHANGELOG.md, CITATION.cff and the Debian and Fedora packages have the same version, and
# that CHANGELOG.md and CITATION.cff have the same release date.
#   version_test.sh SOURCE VERSION
set -euo pipefail
cd "$1"
version=$2
status=0
# is WHAT GOT WANTED: fails unless GOT equals WANTED.
is() {
    [ "$2" = "$3" ] || {
        echo "version_test: $1 has '$2', not '$3'" >&2
        status=1
    }
}
read -r released date < <(sed -nE 's/^## \[([0-9.]+)\] - ([0-9-]+)$/\1 \2/p' CHANGELOG.md | head -1) || true
is "CHANGELOG.md's last release" "${released:-}" "$version"
is CITATION.cff "$(sed -n 's/^version: *//p' CITATION.cff)" "$version"
is "the date in CITATION.cff" "$(sed -n 's/^date-released: *//p' CITATION.cff | tr -d \")" "${date:-}"
is packaging/e4replay.spec "$(sed -n 's/^Version: *//p' packaging/e4replay.spec)" "$version"
is "%changelog of packaging/e4replay.spec" \
    "$(sed -n '/^%changelog/,$p' packaging/e4replay.spec | sed -nE 's/^\* .* - ([0-9.]+)-[0-9]+$/\1/p' | head -1)" "$version"
is debian/changelog "$(sed -nE '1s/^e4replay \(([0-9.]+)\) .*/\1/p' debian/changelog)" "$version"
date -d "${date:-none}" >/dev/null || status=1
exit $status
