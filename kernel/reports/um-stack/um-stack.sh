# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# A job of the lab: reads /proc/PID/stack of a process that runs in the kernel on the other CPU, again and again. With
# KASAN, stock User Mode Linux reports bad reads in dump_trace(), and the job fails.
#   kernel/lab/lab build 7.3 --target uml-smp --variant debug
#   kernel/lab/lab run kernel/reports/um-stack/um-stack.sh --kernel 7.3 --target uml-smp --variant debug --cpus 2
#   READS=20000
# timeout: 120
dd if=/dev/zero of=/dev/null bs=64k 2>/dev/null &
lines=0
for ((i = 0; i < ${READS:-20000}; ++i)); do
    while read -r _; do lines=$((lines + 1)); done <"/proc/$!/stack"
done
kill $!
wait $! || true
figure lines "$lines"
