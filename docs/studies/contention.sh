#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables of docs/studies/contention.md: bundled captures with many writers, under several policies.
#   contention.sh [--captures "NAME..."] [--policies POLICY,...] [--writers N,...] [--cpus N] [BUILD]
# Prints a line of JSON for each capture, policy and number of writers; contention.jq makes a Markdown table or
# a picture of them. BUILD: default build/release. Takes a few seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
captures="posting-256g smallfiles-1000-trim6" cpus=()
policies=legacy,linux-6.5,linux-7.3,linux-7.3-group-goal,spread-by-cpu,spread-by-inode
writers=1,8,64 build=build/release
while [ $# -gt 0 ]; do
    case $1 in
    --captures) captures=$2 && shift ;;
    --policies) policies=$2 && shift ;;
    --writers) writers=$2 && shift ;;
    --cpus) cpus=(--cpus "$2") && shift ;;
    -*) sed -n 's/^#   //p' "$0" >&2 && exit 2 ;;
    *) build=$1 ;;
    esac
    shift
done
build=$(realpath "$build")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for capture in $captures; do
    "$build/tools/e4replay" replay "traces/$capture.e4c" -p "$policies" --writers "$writers" \
        "${cpus[@]}" --json "$work/out.json" --no-progress >/dev/null
    jq -c --arg capture "$capture" '.runs[] | .policy as $policy | .by_writers[] |
        {capture: $capture, policy: $policy, writers, cpus, rate: .requests_per_s,
         waiting: .waiting_percent, evasions, waits: ([.locks[].waits] | add // 0), requests,
         extents: .extents_per_file, seek_mib: (.seek_kb_per_file / 1024)}' "$work/out.json"
done
