# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Records one run from before mount until after sync. trace-cmd records it into run.dat, and at the same time a tracefs
# instance records it into run.trace. `e4replay` must read the same events from both.
#   EVENTS="-e ext4 -e jbd2", RUN="churn ..."
# image: 4k-delalloc
# timeout: 120
top=$TRACING
TRACING=$top/instances/text
mkdir "$TRACING"
start_trace
cat >"$E4R_RUN/workload" <<END
set -e
DISK=$DISK FS=$FS
. $LAB/guest/lib.sh
mount_disk
$BIN/${RUN:-churn --ops 400 --files 60 --max-size 1M --seed 1} $FS >$E4R_RUN/figures
sync
END
# shellcheck disable=SC2086 # word splitting is intended
trace-cmd record -q -C mono -b 200000 ${EVENTS:--e ext4 -e jbd2} -o "$E4R_RUN/run.dat" \
    bash "$E4R_RUN/workload"
cat "$(mb_proc)/mb_groups" >"$E4R_RUN/run.mb_groups"
cat "$(mb_proc)/mb_stats" >"$E4R_RUN/run.mb_stats"
tunables >"$E4R_RUN/run.tunables"
save_trace "$E4R_RUN/run.trace"
umount "$FS"
