# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code shared by slurm.sh and parallel.sh: a sweep in four jobs, two of which are stopped half-way, and the expected
# result. Makes the directory $work, and changes to a directory inside it.
#   . jobs.sh E4REPLAY CAPTURES

e4replay=$(realpath "$1") captures=$(realpath "$2")
points=32 jobs=4
work=$(mktemp -d)
# Mark the processes that are started here, so that ours() finds them even after they get another parent.
export E4R_SWEEP_TEST=$work

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# ours: prints the running processes that have the mark.
ours() (
    unset E4R_SWEEP_TEST # the processes of this search do not count
    grep -lzsxF "E4R_SWEEP_TEST=$work" /proc/[0-9]*/environ | tr -dc '0-9\n'
)

# kill_ours: kills all marked processes, including processes that they start meanwhile.
kill_ours() {
    local pids turn
    for ((turn = 0; turn < 100; ++turn)); do
        mapfile -t pids < <(ours)
        [ ${#pids[@]} -gt 0 ] || return 0
        kill -9 "${pids[@]}" 2>/dev/null || true
    done
    fail "cannot kill ${pids[*]}"
}

# wait_for SECONDS WHAT COMMAND...: waits until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited in vain for $what"
        sleep 0.1
    done
}

# clean_up: prints the log after a failure, then removes everything.
log=$work/log
clean_up() {
    local status=$?
    kill_ours
    [ $status -eq 0 ] || tail -n 40 "$log"/* parts/log-* said first second >&2 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

# The directory has an unusual name that a user could choose. Paths of the captures are relative to it.
dir="$work/it's a sweep"
mkdir "$dir"
cd "$dir" || exit
for name in midfrag-256g.{img,e4t.zst,tunables}; do
    ln -s "$captures/$name" .
done
sweep=("$e4replay" sweep midfrag-256g.img:midfrag-256g.e4t.zst -p 'legacy,cr1.5'
       --set mb_max_to_scan=1..16 --best files/extents)
"${sweep[@]}" -o whole >table

# This script replaces e4replay in the jobs. On the first run, it stops the replays of jobs 1 and 2 when some but not
# all of their points are finished, and writes the node and the processes to kill to a file held-N. (If the machine is
# so busy that a replay ends before it is stopped, the script tries again.)
cat >held <<HELD
#!/bin/sh
job=\${SLURM_ARRAY_TASK_ID:-\${PARALLEL_SEQ:-}}
case \$job in
1 | 2) [ -e "held-\$job" ] || hold=yes ;;
esac
[ -n "\${hold:-}" ] || exec "$e4replay" "\$@"
journal=parts/part-\$job/points.journal
for attempt in 1 2 3 4 5; do
    rm -rf "parts/part-\$job"
    "$e4replay" "\$@" &
    until [ -s "\$journal" ] || ! kill -0 \$!; do sleep 0.01; done
    kill -STOP \$! && [ "\$(grep -c . "\$journal")" -lt $((points / jobs)) ] && break
done
echo "\${SLURMD_NODENAME:-none} \$PPID \$\$ \$!" >"held.\$job"
mv "held.\$job" "held-\$job"
wait
HELD
chmod +x held
export E4REPLAY="$dir/held"

# emit KIND: writes the script for KIND to job.sh, with paths that need quoting.
emit() {
    "${sweep[@]}" -o parts --emit "$1" --jobs $jobs >job.sh
}

# both_held: whether jobs 1 and 2 have been stopped half-way.
both_held() {
    [ -e held-1 ] && [ -e held-2 ]
}

# in_mid_run JOB: checks that the job has finished some but not all of its points.
in_mid_run() {
    local lines
    lines=$(grep -c '' "parts/part-$1/points.journal") || fail "job $1 has no journal"
    { [ "$lines" -ge 1 ] && [ "$lines" -lt $((points / jobs)) ]; } || fail "job $1 has $lines points"
}

# went_on FILE: checks that, according to its output, the job found some of its points finished.
went_on() {
    grep -qE "^parts/part-[12]: contains [1-7] of $((points / jobs)) points$" "$1" ||
        fail "$1 does not say that a job went on: $(cat "$1")"
}

# refuses_to_join MISSING: checks that --merge reports which points are missing and what to do, and writes nothing.
refuses_to_join() {
    local status=0
    "$e4replay" sweep --merge parts/part-* -o early >/dev/null 2>said || status=$?
    [ $status -eq 1 ] || fail "--merge of what is not whole ended with $status"
    grep -qxE "e4replay: [0-9]+ of $points points are missing: $1; run their jobs again" said ||
        fail "--merge said: $(cat said)"
    [ ! -e early ] || fail "--merge of what is not whole has written"
}

# same_as_whole DIRECTORY: checks that DIRECTORY has exactly the five files of one run, byte for byte.
same_as_whole() {
    local file
    diff -r whole "$1" >&2 || fail "$1 is not what one run leaves"
for file in points.jsonl points.csv sweep.sqlite summary.json sweep.json; do
        [ -s "$1/$file" ] || fail "$1 has no $file"
    done
}
