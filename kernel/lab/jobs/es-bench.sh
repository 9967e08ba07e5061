# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Figures: nanoseconds of operations on an extent status tree of 131,072 or 262,144 entries. A kernel with
# kernel/lab/experiments/es-bench.patch times them during boot: batches of 512 operations in three rounds. min, max,
# median, avg and stddev are over 768 batches. The patch fits 6.1, 6.12 and 7.3, with and without es-shrinker.
# mem: 768M
# timeout: 300
dmesg | sed -n 's/.*es-bench: //p' | awk '
    { for (i = 2; i < NF; i += 2) printf "%s/%s %s\n", $1, $i, $i == "N" ? $(i + 1) : $(i + 1) / 10
      ++kinds }
    END { if (!kinds) { print "guest: not a kernel with es-bench.patch" >"/dev/stderr"; exit 1 } }' \
    >>"$E4R_RUN/figures"
