#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the slow tests, grouped into scenes. They build and boot kernels as User Mode Linux, and compare them with the
# model.
#   kernel/test/run.sh [--all | --turn TEXT | SCENE...]    default: --all. Needs tools/setup.sh lab, about 6 GB
#     stock          Linux 6.1: fresh captures, a recording of a mounted file system, random operations
#     patched        6.1 with every series: checkpatch, fresh captures, and predictions by replay
#     series         tests what each series claims, and the tools that take captures
#     6.12, 7.3      fresh captures of this kernel, predictions by replay, and one known bug of it
#     ports          7.3 with each series that was ported to it: checkpatch, build, boot, and a job that tests
#                    what the series claims. Also 7.3 with all of these series together. Also the mails of all
#                    series that could be posted (lab mail)
#     code           replays the bundled captures and random requests with the code of a kernel
#     arm64          6.1 with pages of 64 KiB: fresh captures of file systems with blocks of 64 KiB
#     --turn TEXT    only one scene, chosen by the hash of TEXT (such as a commit). If a series has changed
#                    (test/since.sh), the scene is "series" in about half of the turns. The scenes also run only
#                    in part: "series" tests at most two changed series, or one if none has changed. "code" uses
#                    one kernel, and "ports" one series.
# Ends with "kernel/test: all N steps passed"; stops at the first failing step.
set -euo pipefail
cd "$(dirname "$0")/../.."
lab=kernel/lab/lab
scenes=(stock patched series 6.12 7.3 ports code arm64)
# The tests of the scene "series". Each is a function below. "tools" tests the tools that take captures. Each of the
# others tests what one series claims.
proofs=(mballoc lazyinit dio es nfs tools)
declare -A paths=([mballoc]='kernel/patches/mballoc-cr1.5' [lazyinit]='kernel/patches/lazyinit-control'
    [dio]='kernel/patches/dio-overwrite kernel/lab/workloads/diostress kernel/lab/workloads/diodepth.cc'
    [es]='kernel/patches/es-shrinker src/shrinker'
    [nfs]='kernel/patches/nfs-eager kernel/lab/workloads/nfsmixed.cc kernel/lab/workloads/nfsstream.cc'
    [tools]='src/record src/trace src/age')
# All of these tests depend on these files.
shared='kernel/lab/guest kernel/lab/jobs kernel/lab/configs kernel/lab/lib/guest.sh kernel/lab/lib/jobs.sh
    kernel/series/6.1.series'
# The series that were ported to 7.3. "all" is all of them in one kernel.
ports=(es-shrinker mballoc-fixes group-goal lazyinit-control dio-overwrite nfs-eager all)
# The trees for the scene "code".
code_of=(base 6.12 7.3)
# The text that chooses what to run. If it is empty, everything runs.
text=

usage() {
    sed -n 's/^#   kernel/usage: kernel/p' "$0" >&2
    exit 2
}

# turn WHAT NAME...: prints the NAME whose turn it is, according to $text.
turn() {
    local names=("${@:2}")
    echo "${names[$(test/turn.sh "$1" "$text" ${#names[@]})]}"
}

# Prints the tests in $proofs whose files have changed, beginning with the test whose turn it is.
changed() {
    local i proof first
    first=$(test/turn.sh proof "$text" ${#proofs[@]})
    for ((i = first; i < first + ${#proofs[@]}; i++)); do
        proof=${proofs[i % ${#proofs[@]}]}
        # shellcheck disable=SC2086 # word splitting is intended
        ! test/since.sh ${paths[$proof]} $shared || echo "$proof"
    done
}

# choose_proofs CHANGED...: sets $proofs to at most two of these tests, because more would exceed the time limit. If
# none has changed, sets it to the test whose turn it is.
choose_proofs() {
    [ $# -le 2 ] || echo "kernel/test: not shown now, though changed: ${*:3}"
    if [ $# -gt 0 ]; then proofs=("${@:1:2}"); else proofs=("$(turn proof "${proofs[@]}")"); fi
}

chosen=()
while [ $# -gt 0 ]; do
    case $1 in
    --all) chosen=("${scenes[@]}") ;;
    --turn)
        [ $# -gt 1 ] || usage
        text=$2
        mapfile -t fresh < <(changed)
        [ ${#fresh[@]} = 0 ] || scenes+=(series series series series)
        chosen=("$(turn scene "${scenes[@]}")")
        [ "${chosen[*]}" != series ] || choose_proofs "${fresh[@]}"
        code_of=("$(turn code "${code_of[@]}")")
        ports=("$(turn port "${ports[@]}")")
        shift
        ;;
    -*) usage ;;
    *)
        [[ " ${scenes[*]} " == *" $1 "* ]] || {
            echo "kernel/test: no scene '$1': there are ${scenes[*]}" >&2
            exit 2
        }
        chosen+=("$1")
        ;;
    esac
    shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${scenes[@]}")
echo "kernel/test: ${chosen[*]}"
tools/setup.sh test lab

counted=$(mktemp)
trap 'rm -f "$counted"' EXIT

# step DESCRIPTION COMMAND...: runs one step, and shows its time.
step() {
    local started=$SECONDS
    echo "== $1"
    "${@:2}"
    echo "$1" >>"$counted"
    echo "== passed in $((SECONDS - started)) s"
}

# ---- kernels

# Each of these kernels is built once, even if several scenes need it.
declare -A there=()

# first WHAT: returns whether this is the first call for WHAT.
first() {
    [ -z "${there[$1]:-}" ] || return
    there[$1]=yes
}

stock_kernel() {
    first base || return 0
    step "unpack the kernel's source" "$lab" fetch
    step "build the stock kernel" "$lab" build base
    step "the stock kernel works and is stock" stock_has_no_cr1_5
}

patched_kernel() {
    first all || return 0
    step "unpack the kernel's source" "$lab" fetch
    step "apply every series" "$lab" apply all
    step "build the patched kernel" "$lab" build all
    step "the patched kernel works and is patched" has_cr1_5 all
}

other_kernel() {
    first "$1" || return 0
    step "unpack another kernel's source, $1" "$lab" fetch --base "$1"
    step "build it" "$lab" build "$1"
}

# has_cr1_5 KERNEL: runs a job on the kernel. Fails unless the job succeeds and its figures include criterion 1.5.
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

# ---- the tests of the series

mballoc() {
    step "build the patched kernel with KUnit" "$lab" build all --variant kunit
    step "KUnit tests pass" "$lab" run kunit --kernel all
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
    # With time-travel, the clock stands still while the guest computes, so the figures do not depend on this machine.
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
    # The clock is stopped, as above.
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

# ---- scenes

series() {
    local proof
    echo "kernel/test: series: ${proofs[*]}"
    stock_kernel
    patched_kernel
    for proof in "${proofs[@]}"; do "$proof"; done
}

stock() {
    stock_kernel
    step "the model follows the stock kernel" "$lab" agree --again 1k-nodelalloc --seed 1
    step "and on other shapes" "$lab" agree --again --seed 2 4k-delalloc bigalloc-64k stripe indirect \
        holes aged-1k linear
    step "a busy file system, recorded while it is mounted" \
        "$lab" record --again --for 3s 4k-delalloc
    step "and what is drawn at random" "$lab" random -n 2 --seed 20
}

patched() {
    stock_kernel
    patched_kernel
    step "every patch passes checkpatch" "$lab" checkpatch all
    step "the model follows the patched kernel" "$lab" agree --again --kernel all -p cr1.5 --seed 1 \
        1k-nodelalloc stripe raid5 stripe-16 bigalloc-stripe one-group long-goal patchy aged-1k
    step "a replay predicts the patched kernel" "$lab" predict --again posting posting-bigalloc problem3
}

# Checks that a stock kernel loses data beyond the end of a file (kernel/reports/dio-eof): diostress must fail for this
# reason. If it does not fail, someone has fixed the bug in the kernel, and the report should say so.
loses_data_beyond_eof() {
    local report log
    if report=$("$lab" run diostress --kernel "$1" --set CONFIGS=4k-tail 2>&1); then
        echo "kernel/test: $1 no longer loses data beyond the end of a file" >&2
        return 1
    fi
    log=$(sed -n 's/.*(log: \(.*\))$/\1/p' <<<"$report" | tail -1)
    grep -qa '^diostress: .*: expected .*, found zeros' "$log" || { echo "$report" >&2 && return 1; }
}

# other VERSION: runs the scene of the kernel VERSION.
other() {
    stock_kernel # predictions start from a capture of this kernel
    other_kernel "$1"
    step "diostress finds the data that it loses beyond the end of a file" loses_data_beyond_eof "$1"
    step "the model of it follows it" "$lab" agree --again --kernel "$1" -p "linux-$1" \
        --open-stats --seed 1 \
        1k-nodelalloc 4k-delalloc bigalloc-64k stripe indirect linear linear-groups-4 aged-1k group-goal
    step "and another kernel" "$lab" predict --again --to "$1" midfrag posting-bigalloc
}

# port TOPIC: tests a series on 7.3.
port() {
    local kernel=7.3-$1 job variant=plain target=uml
    [ "$1" != nfs-eager ] || variant=plain+nfs
    [ "$1" != all ] || target=uml-smp
    step "apply $kernel" "$lab" apply "$kernel"
    step "its patches pass checkpatch" "$lab" checkpatch "$kernel"
    step "build it" "$lab" build "$kernel" --target $target --variant "$variant"
    case $1 in
    es-shrinker)
        step "the shrinker visits what it can reclaim, and takes nothing that is needed" \
            "$lab" run es-churn --kernel "$kernel"
        ;;
    mballoc-fixes)
        step "a bitmap that cannot be read" "$lab" run mballoc-unreadable --kernel "$kernel" --set BY=thread
        step "nothing is lost" "$lab" run churn --kernel "$kernel"
        ;;
    group-goal)
        step "small files share a preallocation" \
            "$lab" run kernel/reports/group-goal/group-goal.sh --kernel "$kernel"
        ;;
    lazyinit-control)
        for job in live two count error resize; do
            step "control of lazy initialization: $job" "$lab" run "lazyinit-$job" --kernel "$kernel"
        done
        ;;
    nfs-eager)
        step "eager writes to NFS do not wait for the flusher" "$lab" run nfs-stall --kernel "$kernel"
        step "nor do files that are left open" "$lab" run nfs-left --kernel "$kernel"
        step "O_SYNC and O_DIRECT are as without" "$lab" run nfs-unconcerned --kernel "$kernel"
        step "and who flushes beside a writer returns" "$lab" run nfs-flush --kernel "$kernel"
        ;;
    dio-overwrite)
        step "polled writes up to the end of the file succeed" \
            "$lab" run kernel/reports/iomap-poll/iomap-poll.sh --kernel "$kernel"
        # Runs without stores through mappings, because with such stores direct reads fail even on stock 7.3
        # (kernel/results/dio-overwrite.md).
        step "direct writes lose nothing" "$lab" run diostress --kernel "$kernel" --set SECONDS_EACH=4 \
            --set "ARGS=--mappers 0"
        other_kernel 7.3
        # The clock is stopped, as above.
        step "partial blocks without data are in flight together" \
            "$lab" ab dio-depth --base 7.3 --patched "$kernel" -n 1 --append time-travel=inf-cpu \
            --set "WRITES=--count 512 --prepare fallocated --pattern block" --below elapsed_s=0.01
        ;;
    all)
        for job in smoke churn es-churn lazyinit-stress; do
            step "every series at once, on two CPUs: $job" "$lab" run $job --kernel "$kernel" --target $target
        done
        step "and direct writes lose nothing" "$lab" run diostress --kernel "$kernel" --target $target \
            --set SECONDS_EACH=4 --set "ARGS=--mappers 0"
        ;;
    esac
}

ports() {
    local topic
    echo "kernel/test: ports: ${ports[*]}"
    step "unpack the source of 7.3" "$lab" fetch --base 7.3
    # With --tree, the patches are applied in a temporary tree, so that all these trees need not exist at once.
    for topic in $("$lab" mail --list); do
        step "the mails of $topic pass checkpatch and git send-email --dry-run" \
            "$lab" mail "$topic" --tree "${E4R_LAB:-build/lab}/7.3"
    done
    for topic in "${ports[@]}"; do port "$topic"; done
}

# own_code TREE: uses the code of a kernel to replay the bundled captures, to age file systems and to decide random
# requests.
own_code() {
    local tree=${E4R_LAB:-build/lab}/$1 version
    version=$(make -s --no-print-directory -C "$tree" kernelversion)
    step "the code of $1 decides alone as it did, and ages as its model does" \
        test/guest/prove.sh "$tree" "$version"
    step "and the model decides random lives as the code of $1" \
        test/guest/random.sh "build/guest/$version.uml" --decisions 200000 \
        --seed "$(test/turn.sh random "$text" 1000000)"
}

code() {
    local kernel
    for kernel in "${code_of[@]}"; do
        if [ "$kernel" = base ]; then "$lab" fetch; else "$lab" fetch --base "$kernel"; fi
        own_code "$kernel"
    done
}

arm64() {
    step "install an emulator of arm64, and its compilers" tools/setup.sh arm64
    step "unpack the kernel's source" "$lab" fetch
    step "unpack a root directory of arm64" "$lab" root
    step "build the stock kernel with pages of 64 KiB" "$lab" build base --target arm64
    step "it works" "$lab" run smoke --target arm64
    step "the model follows it on blocks of 64 KiB" "$lab" agree --again --seed 1 64k-churn 64k-nodelalloc
}

for scene in "${chosen[@]}"; do
    case $scene in
    6.12 | 7.3) other "$scene" ;;
    *) "$scene" ;;
    esac
done
echo "kernel/test: all $(wc -l <"$counted") steps passed"
