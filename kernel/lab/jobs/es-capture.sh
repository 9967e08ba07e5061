# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records the extent status trees and their shrinker in NAME.trace for `e4replay shrinker`, from before mount until
# after sync. While a workload runs, the job drops the reclaimable caches every PAUSE seconds.
#   RUN="churn ..."   program and arguments
#   PAUSE=0.3, NAME=es, MOUNT=, TRACE_KB=400000
# image: plain-1g
# mem: 1500M
# timeout: 600
# shellcheck source=kernel/lab/guest/es.sh
. "$LAB/guest/es.sh"
events=$es_events
TRACE_KB=${TRACE_KB:-400000}
start_trace
mount_disk "${MOUNT:-}"
start_shrinking "${PAUSE:-0.3}"
# shellcheck disable=SC2086 # word splitting is intended
"$BIN/"${RUN:-churn --ops 20000 --seed 1} "$FS" >"$E4R_RUN/figures"
stop_shrinking
sync
echo 2 >/proc/sys/vm/drop_caches
save_trace "$E4R_RUN/${NAME:-es}.trace"
umount "$FS"
