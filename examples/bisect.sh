#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Lets `git bisect run` find the commit of a kernel tree that makes a capture worse. In the tree:
#   git bisect start BAD GOOD
#   git bisect run .../bisect.sh CAPTURE CONDITION
# CAPTURE is an absolute path, or the name of a bundled capture. CONDITION is a condition for --fail-if.
set -u
capture=$1 condition=$2
dir=$(mktemp -d) || exit 255
trap 'rm -rf "$dir"' EXIT

# Exit status 125 makes git skip the commit: its kernel does not build, or cannot decide the capture.
e4replay kernel build . -o "$dir/kernel" --no-progress || exit 125
e4replay replay "$capture" -p "kernel:$dir/kernel" --no-progress --fail-if "$condition" >"$dir/report"
case $? in
0) exit 0 ;; # good
4) exit 1 ;; # bad: the condition holds
*) exit 125 ;;
esac
