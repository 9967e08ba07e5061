#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Validates the JSON output of every command against docs/schema.
#   run.sh E4REPLAY CAPTURES WATCH_DOCUMENT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/documents.sh" "$1" "$2" "$root/traces" "$work/out" "$3"
rm -rf "$work/out/swept"
python3 "$here/validate.py" "$root/docs/schema" "$work/out"

# valid DOCUMENT: validates a document against the schema of replay by the command in docs/data.md. This tests that the
# schema's reference to another file works, and that a document of another kind is refused.
valid() {
    python3 -W ignore -m jsonschema --base-uri "file://$(realpath "$root/docs/schema")/" -i "$1" "$root/docs/schema/replay.schema.json" >"$work/valid" 2>&1
}
valid "$work/out/replay/default.json" || { cat "$work/valid"; exit 1; }
! valid "$work/out/verify/same.json" || { echo "a document of verify is valid for replay.schema.json"; exit 1; }
