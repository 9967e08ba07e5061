#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs xfstests on a stock and a patched kernel in turn, and shows the tests that pass on only one of them.
#
# Usage: xfstests.sh KERNEL [--xfstests DIR] [-g GROUPS] [-x GROUPS] [--tests "TEST..."] [--config 4k,1k,bigalloc]
#                    [-n N] [--base X] [--target uml|uml-smp|qemu] [--variant plain|debug] [--cpus N]
#                    [--mount OPTIONS] [--size 6G] [--limit S] [--per-guest N] [--time S]
#                    [--repeat all|differing] [--stock all|failed] [--together] [-j N] [--list]
#                    [-o FILE [--continue]]
#        xfstests.sh --from FILE
#   KERNEL         a series such as all or 7.3-all; --base: the kernel to compare with (default: its stock kernel)
#   --xfstests     a checkout of https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git (default:
#                  $E4R_XFSTESTS). It stays unchanged: the tests of kernel/xfstests are added to a copy
#   -g, -x         groups to include and to exclude, separated by commas (default: -g quick); quick+punch means
#                  the tests that are in both groups
#   --tests        names or patterns of tests, such as "ext4/001 generic/00?"; with -g, the tests of its groups, too
#   --config       geometries of the file systems on both disks, tested in turn (default: 4k)
#   -n N           runs of each test on each kernel (default: 3); a test that neither kernel can run is not repeated
#   --repeat       differing: repeat only tests that failed or differed in the first run
#   --stock        failed: the stock kernel runs only the tests that the patched kernel failed, or passed with
#                  trouble in its kernel log. That is enough to find new failures, in half the time
#   --together     run both kernels at the same time: each test runs in two guests at once
#   -j N           runs N tests at the same time (default: 1), in guests with 1.5 GiB of memory. With target uml,
#                  each guest uses one CPU of this machine. If several guests share a CPU, tests that measure
#                  time may fail
#   --size         size of each of the two disks
#   --limit S      time limit of a test in seconds, multiplied for slow targets (default: 600)
#   --per-guest N  tests in one guest (default: 20)
#   --time S       start no guest after S seconds; the remaining tests are "not reached"
#   --list         prints the names of the tests
#   -o FILE        store every result: "CONFIG TEST SIDE RUN RESULT SECONDS LOG REASON", separated by tabs;
#                  --continue continues an existing FILE
#   --from FILE    print the tables of such a FILE, without guests
#
# If the guest dies, hangs or exceeds the limit in a test, the test has failed, and a new guest runs the rest.
# Exit status: 1 if the patched kernel fails, in any run, a test that stock passes in all of its runs.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/guest.sh
source "$lab_dir/lib/guest.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"
# shellcheck source=kernel/lab/lib/jobs.sh
source "$lab_dir/lib/jobs.sh"
# shellcheck source=kernel/lab/lib/xfstests.sh
source "$lab_dir/lib/xfstests.sh"

refuse() {
    echo "$step: $*" >&2
    exit 2
}

patched=
stock=
checkout=${E4R_XFSTESTS:-}
groups=
excluded=
names=
configs=4k
rounds=3
target=uml
variant=plain
mount=
size=6G
limit=600
per_guest=20
budget=
repeat=all
stock_runs=all
together=0
side_by_side=1
list=0
raw=
resume=0
from=
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=1 && shift && continue ;;
    --together) together=1 && shift && continue ;;
    --continue) resume=1 && shift && continue ;;
    -h | --help) usage ;;
    -*) [ $# -ge 2 ] || refuse "$1 needs a value" ;;
    esac
    case $1 in
    --base) stock=$2 && shift ;;
    --xfstests) checkout=$2 && shift ;;
    -g) groups+=,$2 && shift ;;
    -x) excluded+=,$2 && shift ;;
    --tests) names+=" $2" && shift ;;
    --config) configs=$2 && shift ;;
    -n) rounds=$2 && shift ;;
    --target) target=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    --cpus) CPUS=$2 && shift ;;
    --mount) mount=$2 && shift ;;
    --size) size=$2 && shift ;;
    --limit) limit=$2 && shift ;;
    --per-guest) per_guest=$2 && shift ;;
    --time) budget=$2 && shift ;;
    --repeat) repeat=$2 && shift ;;
    -j) side_by_side=$2 && shift ;;
    --stock) stock_runs=$2 && shift ;;
    -o) raw=$2 && shift ;;
    --from) from=$2 && shift ;;
    -*) usage ;;
    *) [ -z "$patched" ] || usage
        patched=$1 ;;
    esac
    shift
done

# compare FILE: prints the tables.
compare() {
    local a b
    a=$(sed -n 's/^# stock \([^ ]*\) .*/\1/p' "$1")
    b=$(sed -n 's/^# patched \([^ ]*\) .*/\1/p' "$1")
    grep -v '^#' "$1" | awk -v A="${a:-stock}" -v B="${b:-patched}" -f "$lab_dir/lib/xfstests-compare.awk"
}
if [ -n "$from" ]; then
    [ -r "$from" ] || refuse "no file '$from': give one that -o has written"
    compare "$from"
    exit
fi

# ---- Checks the arguments before anything is built.

# number OPTION VALUE: refuses a value that is not a positive number.
number() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || refuse "$1 '$2' is not a number above 0"
}
[ -n "$patched" ] || usage
number -n "$rounds"
number -j "$side_by_side"
number --limit "$limit"
number --per-guest "$per_guest"
[ -z "$budget" ] || number --time "$budget"
[[ $size =~ ^[1-9][0-9]*[MG]$ ]] || refuse "--size '$size' is not a size: give one like 6G"
case $repeat in all | differing) ;; *) refuse "--repeat '$repeat': give all or differing" ;; esac
case $stock_runs in all | failed) ;; *) refuse "--stock '$stock_runs': give all or failed" ;; esac
[ "$stock_runs$together" != failed1 ] ||
    refuse "--stock failed needs to know what the patched kernel failed: leave out --together"
case $target in uml | uml-smp | qemu) ;; *) refuse "no target '$target': give uml, uml-smp or qemu" ;; esac
for config in ${configs//,/ }; do
    mkfs_of "$config" >/dev/null || refuse "no config '$config': give 4k, 1k or bigalloc, with commas between them"
done
[ -n "${configs//,/}" ] || refuse "--config: give 4k, 1k or bigalloc, with commas between them"
[ -n "$checkout" ] || refuse "which xfstests? Give --xfstests DIR or set E4R_XFSTESTS, a checkout of \
https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git"
{ [ -x "$checkout/check" ] && [ -d "$checkout/tests/generic" ]; } ||
    refuse "'$checkout' is not a checkout of xfstests: it has no check and tests/generic"
checkout=$(cd "$checkout" && pwd)
if [ -z "$stock" ]; then
    stock=$(base_of "$patched")
    [ "$stock" != 6.1 ] || stock=base
    ! is_stock "$patched" || refuse "'$patched' is a stock kernel: give a series, or --base too"
fi
[ -z "$raw" ] || [ ! -e "$raw" ] || [ $resume = 1 ] ||
    refuse "$raw is there: give --continue to go on with it, or another file"
[ $resume = 0 ] || [ -n "$raw" ] || refuse "--continue: give -o FILE too"
[[ $E4R_LAB/ != /tmp/* && $E4R_LAB/ != /var/tmp/* && $E4R_LAB/ != /run/* ]] ||
    refuse "E4R_LAB=$E4R_LAB: these guests have a /tmp, /var/tmp and /run of their own. Put it elsewhere"
check_cpus "$target"
[ -n "$groups$names" ] || groups=quick

copy=$(alone prepare_checkout "$checkout")
tests=$(choose_tests "$copy" "${groups#,}" "${excluded#,}" "$names")
[ -n "$tests" ] || die "no test is left: see -g, -x and --tests"
if [ $list = 1 ]; then
    echo "$tests"
    exit
fi

# ---- Kernels. The guests run copies, so later builds do not affect them.

declare -A trees=([stock]=$stock [patched]=$patched)
variant=$(variant_for xfstests "$variant")
slow=$(patience "$target" "$variant")
limit=$((limit * slow))
work=$(mktemp -d "$E4R_LAB/xfstests/run.XXXXXX")
guest_pid=
guest_run=
lanes=()
leave_guest() {
    [ -z "$guest_pid" ] || end_guest "$guest_pid"
    [ -z "$guest_run" ] || rm -f "$guest_run"/disk[0-9]
}
end_lanes() {
    # Each lane ends its own guest. The guest of this shell must be ended here, before the wait.
    [ ${#lanes[@]} = 0 ] || kill -TERM "${lanes[@]}" 2>/dev/null || true
    leave_guest
    wait
}
leave() {
    end_lanes
    rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM
for tree in "$stock" "$patched"; do
    is_stock "$tree" || "$lab_dir/apply.sh" "$tree" >/dev/null
    "$lab_dir/build.sh" "$tree" --target "$target" --variant "$variant" >/dev/null
    kept=$work/$tree
    image=$(kernel_image "$tree" "$target" "$variant")
    mkdir -p "$kept/$(dirname "${image#"$(build_dir "$tree" "$target" "$variant")"/}")" "$kept/include/config"
    cp "$image" "$kept/${image#"$(build_dir "$tree" "$target" "$variant")"/}"
    cp "$(build_dir "$tree" "$target" "$variant")/include/config/kernel.release" "$kept/include/config/"
done
build_dir() {
    echo "$work/$1"
}
build_programs

# ---- Results.

collected=${raw:-$work/results}
header=$(for side in stock patched; do
    echo "# $side ${trees[$side]} $(expected_release "${trees[$side]}" "$target" "$variant")"
done)
if [ -s "$collected" ]; then
    [ "$(grep '^#' "$collected")" = "$header" ] || die "$collected has results of other kernels: $(
        grep '^#' "$collected" | paste -sd';')"
else
    echo "$header" >"$collected"
fi

# wanted CONFIG ROUND SIDE TEST...: prints the tests that this round still has to run.
wanted() {
    awk -F'\t' -v c="$1" -v r="$2" -v s="$3" -v repeat="$repeat" -v tests="${*:4}" '
        /^#/ || $1 != c { next }
        $5 == "spared" { if ($4 == 1) first[$2, $3] = "pass"; next }
        $3 == s && $4 == r { have[$2] = 1 }
        $4 == 1 { first[$2, $3] = $5 }
        END {
            n = split(tests, test, " ")
            for (i = 1; i <= n; ++i) {
                t = test[i]
                if (t in have) continue
                a = first[t, "stock"]; b = first[t, "patched"]
                if (r > 1 && a == "notrun" && b == "notrun") continue
                if (r > 1 && repeat == "differing" && a == b && a == "pass") continue
                print t
            }
        }' "$collected"
}

# spare CONFIG ROUND TEST...: marks the tests that the stock kernel need not run as "spared" in this round. Prints the
# other tests.
spare() {
    awk -F'\t' -v c="$1" -v r="$2" -v tests="${*:3}" '
        /^#/ || $1 != c || $4 != r { next }
        $3 == "patched" && $5 == "pass" && $7 == "-" { clean[$2] = 1 }
        $3 == "stock" { have[$2] = 1 }
        END {
            n = split(tests, test, " ")
            for (i = 1; i <= n; ++i) {
                if (!(test[i] in clean)) print test[i]
                else if (!(test[i] in have))
                    printf "%s\t%s\tstock\t%d\tspared\t0\t-\t-\n", c, test[i], r >>FILENAME
            }
        }' "$collected"
}

# ---- Guests.

# watch RUN: waits until the guest has ended. Kills the guest if it hangs or exceeds a limit, and sets $ended to the
# reason.
watch() {
    local log=$1/log silent
    ended=
    while kill -0 "$guest_pid" 2>/dev/null; do
        silent=$(($(date +%s) - $(stat -c %Y "$log")))
        if grep -q '^xfstests: limit ' "$log"; then
            sleep 10 # lets the guest write the rest of its output
            ended="limit"
        elif [ $silent -gt $((limit + 120)) ]; then
            ended="the guest hung: no word for $silent s"
        fi
        [ -z "$ended" ] || end_guest "$guest_pid"
        sleep 0.5
    done
    kill -KILL -- "-$guest_pid" 2>/dev/null || true
    { wait "$guest_pid" || true; } 2>/dev/null
    guest_pid=
}

# what_ended RUN: prints the reason why the guest ended before its test had a result.
what_ended() {
    local word
    word=$(find_trouble "$target" "$1/log" | grep -vE 'EXT4-fs error|JBD2' | head -1 | tr '\t' ' ') || true
    if [ -n "$word" ]; then
        echo "the guest died: $word"
    elif [ -n "$ended" ]; then
        echo "$ended"
    elif grep -q '^xfstests: end ' "$1/log"; then
        echo "check ended in it"
    else
        echo "the guest ended in it"
    fi
}

# one_guest SIDE CONFIG ROUND TEST...: runs tests in one guest, at most as many as one guest may run. Leaves the
# remaining tests in $left.
one_guest() {
    local side=$1 config=$2 round=$3 tree=${trees[$1]} run release test result seconds reason word failed=0
    shift 3
    run=$(new_run "xfstests-$config-$side")
    guest_run=$run
    empty_disks "$run" "$size" "$size"
    MEM=$(job_field "$job" mem)
    APPEND="log_buf_len=4M"
    # A test spends most of its time starting programs. User Mode Linux starts them faster with seccomp, which 6.1 and
    # 6.12 do not support.
    case $target-$(base_of "$tree") in uml-7.*) APPEND+=" seccomp=auto" ;; esac
    if [[ $target-$variant == uml*-debug* ]]; then APPEND+=" kasan_multi_shot"; fi
    VARS=("SLOW=$slow" "XFSTESTS=$copy" "TESTS=$*" "MKFS=$(mkfs_of "$config")" "MOUNT=$mount" "LIMIT=$limit")
    start_guest "$run" "$tree" "$target" "$variant" "$job"
    guest_pid=$(cat "$run/pid")
    watch "$run"
    rm -f "$run"/disk[0-9]
    [ -e "$run/kernel" ] || fail_run "$run" "the guest did not start"
    release=$(expected_release "$tree" "$target" "$variant")
    [ "$(head -1 "$run/kernel")" = "$release" ] ||
        fail_run "$run" "ran kernel $(head -1 "$run/kernel"), not $release"
    touch "$run/dmesg" # a guest that died leaves no dmesg
    log_words "$target" "$run/dmesg" >"$run/words"
    awk -f "$lab_dir/lib/xfstests-results.awk" "$run/log" >"$run/results.tsv"
    while IFS=$'\t' read -r test result seconds reason; do
        if [ "$result" = running ]; then result=fail reason=$(what_ended "$run"); fi
        word=$(sed -n "s|^$test ||p" "$run/words" | head -1)
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$config" "$test" "$side" "$round" "$result" "$seconds" \
            "${word:--}" "$reason" >>"$collected"
        if [ "$result" = fail ]; then
            failed=1
            note "$config, $tree, run $round: $test failed: $reason ($run)"
        fi
    done <"$run/results.tsv"
    mapfile -t left < <(printf '%s\n' "$@" | grep -vxFf <(cut -f1 "$run/results.tsv"))
    [ ${#left[@]} -lt $# ] || fail_run "$run" "no test was run"
    if [ $failed = 0 ]; then rm -rf "$run"; fi
}

spent() {
    [ -n "$budget" ] && [ $SECONDS -ge "$budget" ]
}

# run_tests SIDE CONFIG ROUND TEST...: runs all of the tests, in one guest after the other.
run_tests() {
    left=("${@:4}")
    while [ ${#left[@]} -gt 0 ] && ! spent; do
        note "$2, ${trees[$1]}, run $3 of $rounds: ${#left[@]} tests from ${left[0]} on"
        one_guest "$1" "$2" "$3" "${left[@]}"
    done
}

# one_side SIDE CONFIG ROUND TEST...: runs the tests on one kernel, except tests that have already run in this round.
one_side() {
    local now
    mapfile -t now < <(wanted "$2" "$3" "$1" "${@:4}")
    run_tests "$1" "$2" "$3" "${now[@]}"
}

# patched_first CONFIG ROUND TEST...: runs all tests on the patched kernel, and then the tests that are not spared on
# the stock kernel. This order is needed because the results of the patched kernel decide which tests are spared.
patched_first() {
    local doubtful
    one_side patched "$@"
    if spent; then return; fi
    mapfile -t doubtful < <(spare "$@")
    one_side stock "$1" "$2" "${doubtful[@]}"
}

# in_turn CONFIG ROUND TEST...: runs the tests on one kernel and then on the other. In odd rounds, the stock kernel is
# first.
in_turn() {
    local side sides=(stock patched)
    if [ $(($2 % 2)) = 0 ]; then sides=(patched stock); fi
    for side in "${sides[@]}"; do one_side "$side" "$@"; done
}

# lane COMMAND...: starts a lane: a shell that runs the command in parallel with this shell.
lane() {
    (
        lanes=()
        trap end_lanes EXIT
        trap 'exit 130' INT TERM
        "$@"
    ) &
    lanes+=("$!")
}

# wait_for_lanes: waits until all lanes have ended. Fails if one of them failed.
wait_for_lanes() {
    local lane status=0
    for lane in "${lanes[@]}"; do wait "$lane" || status=$?; done
    lanes=()
    return $status
}

# both_sides CONFIG ROUND TEST...: runs both kernels at the same time. Fails if one of them fails.
both_sides() {
    lane one_side stock "$@"
    lane one_side patched "$@"
    wait_for_lanes
}

kernels=in_turn
if [ $together = 1 ]; then kernels=both_sides; fi
if [ "$stock_runs" = failed ]; then kernels=patched_first; fi
job=$(job_file xfstests)
mapfile -t all <<<"$tests"
# Do not start more lanes than there are tests.
if [ "$side_by_side" -gt ${#all[@]} ]; then side_by_side=${#all[@]}; fi
share=$(((${#all[@]} + side_by_side - 1) / side_by_side))
if [ $share -lt "$per_guest" ]; then per_guest=$share; fi

# run_all: takes a batch of tests that no lane has begun, runs all of its rounds, and continues with the next batch.
run_all() {
    local config first round begun
    for config in ${configs//,/ }; do
        for ((first = 0; first < ${#all[@]}; first += per_guest)); do
            begun=$work/begun-$config-$first
            if ! mkdir "$begun" 2>/dev/null; then
                [ -d "$begun" ] || die "cannot make $begun"
                continue
            fi
            for ((round = 1; round <= rounds; ++round)); do
                "$kernels" "$config" "$round" "${all[@]:first:per_guest}"
            done
        done
    done
}

# run_lane NUMBER: runs one of several lanes. A uml lane uses one CPU, because User Mode Linux switches to its programs
# faster on the same CPU.
run_lane() {
    local cpus
    if [ "$target" = uml ]; then
        mapfile -t cpus < <(allowed_cpus)
        taskset -cp "${cpus[$1 % ${#cpus[@]}]}" "$BASHPID" >/dev/null
    fi
    run_all
}

if [ "$side_by_side" = 1 ]; then
    run_all
else
    for ((i = 0; i < side_by_side; ++i)); do lane run_lane $i; done
    wait_for_lanes
fi
if spent; then note "the time of --time is over: what is left was not run"; fi
compare "$collected"
