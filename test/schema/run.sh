#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holds what every command writes as JSON against docs/schema.
#   run.sh E4REPLAY CAPTURES
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/documents.sh" "$1" "$2" "$root/traces" "$work/out"
rm -rf "$work/out/swept"
python3 "$here/validate.py" "$root/docs/schema" "$work/out"
