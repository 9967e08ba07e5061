#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fills a directory with the recordings that the tests of trace.dat read.
set -euo pipefail
cp ../trace/data/*.dat "$1"
for packed in ../trace/data/*.dat.zst; do
    zstd -dqf "$packed" -o "$1/$(basename "$packed" .zst)"
done
