#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The slow proof: stock and patched Linux 6.1 built and booted here as User Mode Linux, and fresh
# captures of each held against the model; the same of Linux 6.12 or of 7.3, in turn. What each series
# claims, and that the code of a kernel decides alone, is shown when it has changed (test/since.sh), three
# of these at most, else one by turn.
#   test/lab/run.sh [--all]    needs Debian's linux-source-6.1 (tools/setup.sh lab) and about 6 GB.
#                              --all: every series, both other kernels
# Ends with "test/lab: all N steps passed"; stops at the first that does not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh test lab
lab=kernel/lab/lab
commit=$(git rev-parse HEAD)
# 6.1 always; of the other kernels one, by the commit.
others=(6.12 7.3)
# Whose own code decides: one, by the commit.
code_of=(base "${others[@]}")
# What the series claim, and the tools that take captures. Each is a function below.
proofs=(mballoc lazyinit dio es nfs tools code)
declare -A paths=([mballoc]='kernel/patches/mballoc-cr1.5' [lazyinit]='kernel/patches/lazyinit-control'
    [dio]='kernel/patches/dio-overwrite kernel/lab/workloads/diostress kernel/lab/workloads/diodepth.cc'
    [es]='kernel/patches/es-shrinker src/shrinker'
    [nfs]='kernel/patches/nfs-eager kernel/lab/workloads/nfsmixed.cc kernel/lab/workloads/nfsstream.cc'
    [tools]='src/record src/trace src/age'
    [code]='src/guest src/image/mountable.cc kernel/driver test/guest')
# What all of these stand on. Other steps of the lab, and series on other kernels, are not in it.
shared='kernel/lab/guest kernel/lab/jobs kernel/lab/configs kernel/lab/lib/guest.sh kernel/lab/lib/jobs.sh
    kernel/series/6.1.series'

# turn WHAT NAME...: the NAME whose turn it is.
turn() {
    local names=("${@:2}")
    echo "${names[$(test/turn.sh "$1" "$commit" ${#names[@]})]}"
}

# Names the proofs that are wanted: one by turn, and of those whose files have changed the ones that follow
# it, three in all. A run with more of them would take longer than it may.
wanted() {
    local i first count=0 proof
    first=$(test/turn.sh proof "$commit" ${#proofs[@]})
    for ((i = first; i < first + ${#proofs[@]}; i++)); do
        proof=${proofs[i % ${#proofs[@]}]}
        # shellcheck disable=SC2086 # several paths
        if [ "$i" = "$first" ] || test/since.sh ${paths[$proof]} $shared; then
            if [ "$count" -lt 3 ]; then echo "$proof"; else echo "test/lab: $proof is not shown now" >&2; fi
            count=$((count + 1))
        fi
    done
}

case ${1:-} in
'')
    others=("$(turn base "${others[@]}")")
    code_of=("$(turn code base "${others[@]}")")
    mapfile -t proofs < <(wanted)
    ;;
--all) ;;
*) sed -n 's/^#   test/usage: test/p' "$0" >&2 && exit 2 ;;
esac
echo "test/lab: Linux 6.1 and ${others[*]}; proofs: ${proofs[*]}"

# What the steps beside the others print, until it is their turn.
beside=$(mktemp)
counted=$(mktemp)
lane=
trap '[ -z "$lane" ] || kill -- "-$lane" 2>/dev/null || true; rm -f "$beside" "$counted"' EXIT

# Waits for the steps beside the others; ends with what they printed when they failed.
join_lane() {
    local status=0
    wait "$lane" || status=$?
    [ "$status" = 0 ] || { cat "$beside"; exit "$status"; }
}

# step DESCRIPTION COMMAND...
step() {
    if [ -n "$lane" ] && ! kill -0 "$lane" 2>/dev/null; then join_lane; fi
    local started=$SECONDS
    echo "== $1"
    "${@:2}"
    echo "$1" >>"$counted"
    echo "== passed in $((SECONDS - started)) s"
}

# Whether the kernel runs a job, and whether its figures then say that it has the rung.
has_cr1_5() {
    local figures
    figures=$("$lab" run smoke --kernel "$1")
    grep -q '^cr1/hits ' <<<"$figures"
    grep -q '^cr1.5/hits ' <<<"$figures"
}
stock_has_no_cr1_5() {
    local figures
    figures=$("$lab" run smoke --kernel base)
    grep -q '^cr1/hits ' <<<"$figures"
    [[ $figures != *cr1.5/hits* ]]
}

# ---- what the series claim

mballoc() {
    step "a bitmap that cannot be read" "$lab" run mballoc-unreadable --kernel all
    step "patched against stock, in turn" "$lab" ab posting --base base --patched all -n 1 \
        --set FILES=8000 --below extents_scanned=0.1 --below cr3/hits=0.1 \
        --below cr2/groups_considered=0.05
}

lazyinit() {
    local job
    for job in live pause prefetch two count error probe; do
        step "control of lazy initialization: $job" "$lab" run "lazyinit-$job" --kernel all
    done
}

dio() {
    step "direct writes lose nothing" "$lab" run diostress --kernel all --set SECONDS_EACH=4
    # A clock that stands still while the guest computes: the figures do not depend on this machine.
    step "overwrites of partial blocks are in flight together" \
        "$lab" ab dio-depth --base base --patched all -n 1 --append time-travel=inf-cpu \
        --set "WRITES=--count 1024" --below elapsed_s=0.004
    step "and so are partial blocks without data" \
        "$lab" ab dio-depth --base base --patched all -n 1 --append time-travel=inf-cpu \
        --set "WRITES=--count 512 --prepare fallocated --pattern block" --below elapsed_s=0.01
}

es() {
    step "the extent status shrinker visits what it can reclaim" \
        "$lab" ab es-shrink --base base --patched all -n 1 --set BLOCKS=32768 --set HOLES=997 \
        --below visits_per_reclaim=0.1
    step "and takes nothing that is needed" "$lab" run es-churn --kernel all
    step "the model follows it" "$lab" es-agree churn delalloc-1k
    step "and that of the patched kernel" "$lab" es-agree --kernel all --recorded evictable churn
}

nfs() {
    step "build the patched kernel with NFS" "$lab" build all --variant plain+nfs
    step "eager writes to NFS do not wait for the flusher" \
        "$lab" run nfs-stall --kernel all --set EAGER=eager
    step "a writer to NFS that is held can be killed" "$lab" run nfs-kill --kernel all
    step "and is told that the server's disk is full" "$lab" run nfs-enospc --kernel all
    # A clock that stands still, as above.
    step "write-behind holds little memory, and fsync is short" \
        "$lab" ab nfs-loopback --base all --patched all -n 1 --set MIB=128 \
        --set-patched SYSCTLS=fs.nfs.nfs_max_woutstanding=16 --below commits=1.01 \
        --below fsync_ms=0.2 --below peak_dirty_mib=0.4 --below write_max_ms=0.2
}

tools() {
    step "trace-cmd and tracefs tell the same" "$lab" recorders
    step "a file system aged by the model is what the kernel makes of it" "$lab" age \
        --profile wang-lanl --until 'utilisation 0.8, turnover 2x'
}

# own_code TREE: the code of a kernel decides, without its file systems' requests.
own_code() {
    local tree=${E4R_LAB:-build/lab}/$1 version
    version=$(make -s --no-print-directory -C "$tree" kernelversion)
    step "the code of $1 decides alone as it did, and ages as its model does" \
        test/guest/prove.sh "$tree" "$version"
    step "and the model decides random lives as the code of $1" \
        test/guest/random.sh "build/guest/$version.uml" --decisions 200000 \
        --seed "$(test/turn.sh random "$commit" 1000000)"
}

# The stock kernel's here, the other's where that is unpacked (further_builds).
code() {
    [[ " ${code_of[*]} " != *" base "* ]] || own_code base
}

# ---- the model against kernels

# Whether a stock kernel loses data behind the end of a file (kernel/reports/dio-eof): diostress must fail,
# and for that. One that keeps it is fixed, and the report is to say so.
loses_data_behind_eof() {
    local report log
    if report=$("$lab" run diostress --kernel "$1" --set CONFIGS=4k-tail 2>&1); then
        echo "test/lab: $1 loses nothing behind the end of a file any more" >&2
        return 1
    fi
    log=$(sed -n 's/.*(log: \(.*\))$/\1/p' <<<"$report" | tail -1)
    grep -qa '^diostress: .*: expected .*, found zeros' "$log" || { echo "$report" >&2 && return 1; }
}

other_kernel() {
    step "unpack another kernel's source, $1" "$lab" fetch --base "$1"
    step "build it" "$lab" build "$1"
    step "diostress finds what it loses behind the end of a file" loses_data_behind_eof "$1"
    step "the model of it follows it" "$lab" agree --again --kernel "$1" -p "linux-$1" \
        --open-stats --seed 1 \
        1k-nodelalloc 4k-delalloc bigalloc-64k stripe indirect linear linear-groups-4 aged-1k group-goal
    step "and another kernel" "$lab" predict --again --to "$1" midfrag posting-bigalloc
}

models() {
    step "the model follows the stock kernel" "$lab" agree --again 1k-nodelalloc --seed 1
    step "and on other shapes" "$lab" agree --again --seed 2 4k-delalloc bigalloc-64k stripe indirect \
        holes aged-1k linear
    step "a busy file system, recorded while it is mounted" \
        "$lab" record --again --for 3s 4k-delalloc
    step "and what is drawn at random" "$lab" random -n 2 --seed 20
    step "the model follows the patched kernel" "$lab" agree --again --kernel all -p cr1.5 --seed 1 \
        1k-nodelalloc stripe raid5 stripe-16 bigalloc-stripe one-group long-goal patchy aged-1k
    step "a replay predicts the patched kernel" "$lab" predict --again posting posting-bigalloc problem3
}

# Most of a guest's time is one processor's, and a build takes whatever there is: both at once.
further_builds() {
    local kernel
    if [[ " ${proofs[*]} " == *" mballoc "* ]]; then
        step "build the patched kernel with KUnit" "$lab" build all --variant kunit
        step "KUnit tests pass" "$lab" run kunit --kernel all
    fi
    if [[ " ${proofs[*]} " == *" nfs "* ]]; then nfs; fi
    for kernel in "${others[@]}"; do
        other_kernel "$kernel"
        [[ " ${proofs[*]} " != *" code "* || " ${code_of[*]} " != *" $kernel "* ]] || own_code "$kernel"
    done
}

step "unpack the kernel's source" "$lab" fetch
step "every patch passes checkpatch" "$lab" checkpatch all
step "apply every series" "$lab" apply all
step "build the stock kernel" "$lab" build base
step "build the patched kernel" "$lab" build all
set -m # a group of its own, which can be ended as one
further_builds </dev/null >"$beside" 2>&1 &
lane=$!
set +m
step "the stock kernel works and is stock" stock_has_no_cr1_5
step "the patched kernel works and is patched" has_cr1_5 all
models
for proof in "${proofs[@]}"; do
    [ "$proof" = nfs ] || "$proof"
done
join_lane
cat "$beside"
echo "test/lab: all $(wc -l <"$counted") steps passed"
