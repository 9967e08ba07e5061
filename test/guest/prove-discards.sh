#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares discards in guests of the kernel lab, for mounts with discard and for FITRIM. Three lists of discards must be
# equal: the discards that the block layer received, the events ext4_discard_blocks of the trace, and the discards that
# the model sends while it follows the trace.
#   test/guest/prove-discards.sh [--seed N] [--again] KERNEL POLICY [KIND...]
#     KERNEL   base, 6.12, 7.3 or a series (kernel/lab/lab)
#     POLICY   the policy that models this kernel (`e4replay policies`)
#     --seed   seed of the workload; default: 1
#     --again  takes captures again even if they exist
#     KIND     a kind of kernel/lab/kinds.table; default: all kinds named "discard..." or "fitrim..."
# Captures stay in $E4R_LAB/captures. Prints a line for each capture. Exit status 3 if any list differs.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/../../kernel/lab/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

seed=1
again=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --seed) seed=${2:-} && shift ;;
    --again) again=1 ;;
    *) break ;;
    esac
    shift
done
if [ $# -lt 2 ] || [[ $1 == -* ]] || [[ ! $seed =~ ^[0-9]+$ ]]; then
    sed -n 's/^#   test/usage: test/p; s/^#     /  /p' "$0" >&2
    exit 2
fi
tree=$1 policy=$2
shift 2
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || mapfile -t kinds < <(list_kinds | grep -E '^(discard|fitrim)')
captures=$E4R_LAB/captures
build_project e4replay list_discards
list=$(project_build)/test/replay/list_discards
export MEM=${MEM:-2G} # the disk is in the guest's memory
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0

# same WHAT A B: compares two files. If they differ, prints the first difference and returns false.
same() {
    cmp -s "$2" "$3" && return
    echo "  $1: $(diff "$2" "$3" | sed -n '2p;/^>/{p;q}' | paste -sd' ')"
    worst=3
    return 1
}

for kind in "${kinds[@]}"; do
    known_kind "$kind" || die "no kind '$kind' in kernel/lab/kinds.table"
    # Load every group first (--warm). This disk answers at once, so a search would otherwise never have to wait for
    # read-ahead.
    name=$captures/$(capture_name "$kind" "$seed" 1 "$tree")
    if [ -n "$again" ] || [ ! -e "$name.discards" ]; then
        "$lab_dir/capture.sh" "$kind" --seed "$seed" --warm --kernel "$tree" -o "$captures" >/dev/null
    fi
    "$list" "$name.img" "$name.trace.zst" "$policy" recorded >"$work/recorded"
    "$list" "$name.img" "$name.trace.zst" "$policy" >"$work/model"
    [ -s "$work/recorded" ] || die "$name: no discard in it"
    size=$(dumpe2fs -h "$name.img" 2>/dev/null | awk '/^Block size:/ { print $3 }')
    awk -v sectors=$((size / 512)) '{ print $1 * sectors, $2 * sectors }' "$work/recorded" >"$work/sectors"
    decisions=$("$(project_build)/tools/e4replay" verify "$name.img" "$name.trace.zst" -p "$policy" \
        --no-progress | awk '/^decisions/ { all = $2 } /^identical/ { print $2 " of " all; exit }') || true
    echo "$kind: $(wc -l <"$work/recorded") discards of $(awk '{ n += $2 } END { print n }' \
        "$work/recorded") blocks, decisions identical: $decisions"
    same "the trace and the block layer" "$work/sectors" "$name.discards" || true
    same "the trace and the model" "$work/recorded" "$work/model" || true
done
exit $worst
