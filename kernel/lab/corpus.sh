#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs a program that is installed on this machine on a file system mounted in a guest, and records it with `e4replay
# record` (tools/record-corpus.sh).
#
# Usage: corpus.sh [--kernel base|SERIES] [--mount OPTIONS] -o FILE.e4c IMAGE COMMAND...
#   IMAGE     an image of the file system; the program modifies it
#   COMMAND   the word RUN in it is replaced by the path of an empty directory in the file system
# E4REPLAY=FILE sets the recording program. The default is the project's release build, which is built if necessary.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

tree=base
mount=defaults
out=
while [[ ${1:-} == -* ]]; do
    case $1 in
    --kernel) tree=$2 && shift ;;
    --mount) mount=$2 && shift ;;
    -o) out=$2 && shift ;;
    *) usage ;;
    esac
    shift
done
{ [ -n "$out" ] && [ $# -ge 2 ]; } || usage
[ -e "$1" ] || die "$1: no such image"
e4replay=${E4REPLAY:-}
if [ -z "$e4replay" ]; then
    build_project e4replay
    e4replay=$(project_build)/tools/e4replay
fi
work=$(new_run corpus)
DISKS=("$(realpath "$1")")
shift
TIMEOUT=${TIMEOUT:-1800}
VARS=("E4REPLAY=$(realpath "$e4replay")" "MOUNT=$mount" "COMMAND=$(printf '%q ' "$@")")
guest "$work" "$tree" uml plain "$lab_dir/jobs/corpus.sh"
mv "$work/record.e4c" "$out"
rm -rf "$work"
