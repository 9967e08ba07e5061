# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Runs test/watch/endure.sh: `e4replay watch` follows a file system through every kind of event, including growth.
#   E4REPLAY=FILE   the program; must be set
#   MINUTES=3
# mem: 3G
# timeout: 900
# shellcheck disable=SC2153 # the caller sets E4REPLAY
"$LAB/../../test/watch/endure.sh" "$E4REPLAY" "${MINUTES:-3}" | tee "$E4R_RUN/endured"
sed -n 's/^endure.sh: \([0-9]*\) of \([0-9]*\) decisions identical, \([0-9]*\) start images.*/identical \1\ndecisions \2\nstarts \3/p' \
    "$E4R_RUN/endured" >>"$E4R_RUN/figures"
