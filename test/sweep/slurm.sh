#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Submits the script from `sweep --emit slurm` to a Slurm cluster with two nodes, which this script starts on this
# machine. Half-way, both nodes are killed with all of their processes. One node is started again, the other is not.
# Slurm queues their tasks again, and the tasks continue. The merged parts must equal the result of a single run.
#   test/sweep/slurm.sh E4REPLAY CAPTURES      exit status 77: Slurm is not installed
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd sbatch squeue sinfo scontrol; do
    command -v $tool >/dev/null || {
        echo "no $tool here" >&2
        exit 77
    }
done
# shellcheck source=test/sweep/jobs.sh
. "$(dirname "$0")/jobs.sh" "$@"
export SLURM_CONF=$work/slurm.conf
declare -A pid # the process numbers of munged, slurmctld and the nodes

# start NAME COMMAND...: starts a daemon that stays a child of this script.
start() {
    "${@:2}" >>"$log/$1.out" 2>&1 &
    pid[$1]=$!
}
start_node() {
    start "$1" slurmd -D -N "$1"
}

# Prints three unused ports below the kernel's range of dynamic ports.
free_ports() {
    local port found=0
    for ((port = 20000 + RANDOM % 10000; found < 3; ++port)); do
        (: <>/dev/tcp/127.0.0.1/$port) 2>/dev/null && continue
        echo $port
        found=$((found + 1))
    done
}

# Configures daemons that write nothing outside of $work. Slurm queues a job again only on request (JobRequeue). The
# timeouts are short, because this script waits for them below. A job may run again only after cred_expire, whose
# minimum is 5 s.
configure() {
    local host port
    host=$(uname -n)
    mapfile -t port < <(free_ports)
    mkdir "$log" "$work/state" "$work/spool"
    cat >"$SLURM_CONF" <<CONF
ClusterName=e4replay
SlurmctldHost=${host%%.*}(127.0.0.1)
SlurmctldPort=${port[0]}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$log/slurmctld
SlurmdLogFile=$log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
JobRequeue=0
ReturnToService=2
BatchStartTimeout=1
MessageTimeout=2
TCPTimeout=1
SlurmdTimeout=4
KillWait=1
NodeName=n1 NodeHostname=${host%%.*} NodeAddr=127.0.0.1 Port=${port[1]} CPUs=1
NodeName=n2 NodeHostname=${host%%.*} NodeAddr=127.0.0.1 Port=${port[2]} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES State=UP
CONF
    head -c 1024 /dev/urandom >"$work/munge.key"
    chmod 600 "$work/munge.key"
    chmod 711 "$work" # clients of munged must reach its socket
}

start_slurm() {
    configure
    start munged munged --foreground --key-file="$work/munge.key" --socket="$work/munge.socket" \
        --pid-file="$work/munged.pid" --seed-file="$work/munge.seed"
    wait_for 300 munged test -S "$work/munge.socket"
    start slurmctld slurmctld -D
    start_node n1
    start_node n2
    wait_for 300 "two nodes" nodes_are "n1 idle n2 idle"
}

nodes_are() {
    [ "$(sinfo -hN -o '%N %t' 2>/dev/null | xargs)" = "$1" ]
}

# ended: whether the queue is empty.
ended() {
    [ -z "$(squeue -h 2>/dev/null || echo unknown)" ]
}

# task JOB N KEY: prints the value that scontrol shows for KEY.
task() {
    scontrol -o show job "$1" | sed -n "/ ArrayTaskId=$2 /s/.* $3=\([^ ]*\).*/\1/p"
}

# kill_node N: kills the daemon of the node that runs task N, the process that watches the task, the task's script and
# its replay.
kill_node() {
    local node pids
    read -r node pids <"held-$1"
    # shellcheck disable=SC2086 # three process numbers
    kill -9 "${pid[$node]}" $pids
    wait "${pid[$node]}" 2>/dev/null && fail "$node ended as if all were well"
    return 0
}

start_slurm
emit slurm
job=$(sbatch --parsable job.sh)
wait_for 300 "two tasks to be in mid-run" both_held
in_mid_run 1
in_mid_run 2
refuses_to_join '.*, 1[0-9]-32'

kill_node 1
kill_node 2
read -r back _ <held-1
read -r away _ <held-2
# When a node starts again, Slurm notices that a task was lost only if the task is older than BatchStartTimeout and
# MessageTimeout.
sleep 4
start_node "$back"
wait_for 300 "the tasks to end" ended
nodes_are "$(printf '%s\n' "$back idle" "$away down*" | sort | xargs)" ||
    fail "the nodes are $(sinfo -hN -o '%N %t' | xargs), $away was to stay away"
for number in 1 2 3 4; do
    [ "$(task "$job" $number JobState)" = COMPLETED ] || fail "task $number did not end well"
    [ $number -le 2 ] || continue
    [ "$(task "$job" $number Restarts)" -ge 1 ] || fail "task $number was not put into the queue again"
    went_on "parts/log-$number"
done
sh job.sh >joined
same_as_whole parts/all
diff table joined >&2 || fail "the table is not that of one run"

# If a part is lost, --merge names it, and its task can be submitted again.
rm -r parts/part-3
refuses_to_join 17-24
sbatch --parsable --array=3 job.sh >/dev/null
wait_for 300 "the task to end" ended
sh job.sh >joined
same_as_whole parts/all

# Stop all daemons in order. No process may be left.
for name in n1 n2 slurmctld munged; do
    kill "${pid[$name]}" 2>/dev/null || true
    wait "${pid[$name]}" 2>/dev/null || true
done
none_left() {
    [ -z "$(ours)" ]
}
wait_for 300 "all processes to end" none_left
echo "two nodes lost, two tasks again: the same as one run"
