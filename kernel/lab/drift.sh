#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Replays the bundled captures with the code of several kernel trees. Shows a hash of all decisions for each capture and
# tree. If a stable release decides differently from its predecessor, their hashes differ.
#
# Usage: drift.sh [--into FILE] [TREE|KERNEL]...
#   TREE            base, the number of another base, a series of the lab, or a directory with the
#                   sources of a kernel. Default: base 6.12 7.3; missing trees are fetched
#   KERNEL          a file that `e4replay kernel build` has made
#   --into FILE     also puts the table between "<!-- drift -->" and "<!-- end -->" of a Markdown file
#
# Prints a Markdown table. Exit status 3 if, on a capture with one writer, the code of a tree decides differently from
# the recorded kernel although both have the same release.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/kinds.sh
source "$lab_dir/lib/kinds.sh"

into=
given=()
while [ $# -gt 0 ]; do
    case $1 in
    --into) [ $# -ge 2 ] || usage
        into=$2 && shift ;;
    -*) usage ;;
    *) given+=("$1") ;;
    esac
    shift
done
[ ${#given[@]} -gt 0 ] || given=(base 6.12 7.3)
need jq
build_project e4replay
e4replay=$(project_build)/tools/e4replay
mkdir -p "$E4R_LAB/drift"

# kernel_of TREE|KERNEL: prints the path of the kernel file. If the argument is a tree, first builds the file.
kernel_of() {
    local tree=$1 file number
    [ ! -f "$1" ] || { echo "$1" && return; }
    if [ ! -d "$1" ]; then
        for number in $debian_bases; do
            [ "$1" != "$number" ] || [ -d "$(tree_of "$1")" ] || "$lab_dir/fetch.sh" --base "$number" >&2
        done
        [ "$1" != base ] || [ -d "$(tree_of base)" ] || "$lab_dir/fetch.sh" >&2
        tree=$(tree_of "$1")
        [ -d "$tree" ] || die "'$1' is not a kernel, a directory or a tree of the lab"
    fi
    file=$E4R_LAB/drift/$(tr -c 'A-Za-z0-9.\n' - <<<"$1").uml
    "$e4replay" kernel build "$tree" -o "$file" --no-progress >&2
    echo "$file"
}

release_of() {
    grep -aom1 'e4replay-guest-kernel protocol=[0-9a-z= ]* release=[^[:space:]]*' "$1" | sed 's/.*release=//'
}

# model_of RELEASE: prints the policy that models a release.
model_of() {
    case $1 in
    6.1.*) echo legacy ;;
    6.[2-9].* | 6.1[01].*) echo linux-6.5 ;;
    6.1[2-6].*) echo linux-6.12 ;;
    *) echo linux-7.3 ;;
    esac
}

# Prints the names of the captures to replay. The code runs with pages of 4 KiB, so it cannot mount a file system with
# larger blocks.
names() {
    awk '($1 == "capture" && $5 != "pages-of-64k") || $1 == "recorded" { print $2 }' "$top_dir/traces/MANIFEST"
}

# hashes NAME POLICIES: replays a capture. Prints "recorded RELEASE HASH", and a line "POLICY HASH DECISIONS" for each
# policy.
hashes() {
    "$e4replay" replay "$top_dir/traces/$1.e4c" -p "$2" --force --no-progress --json - 2>"$E4R_LAB/drift/log" >"$E4R_LAB/drift/json" ||
        { cat "$E4R_LAB/drift/log" >&2 && die "$1: replaying it failed"; }
    jq -r '"recorded \(.trace.kernel) \(.recorded.decisions_hash // "-")",
           (.runs[] | "\(.policy) \(.decisions_hash) \(.requests)")' "$E4R_LAB/drift/json"
}

kernels=()
releases=()
for one in "${given[@]}"; do
    kernels+=("$(kernel_of "$one")")
    releases+=("$(release_of "${kernels[-1]}")")
    [ -n "${releases[-1]}" ] || die "$one: is not a kernel of e4replay"
done

# row NAME: prints the capture's line of the table.
row() {
    local name=$1 policies='' i line kernel short model hash count recorded found worst=0
    for i in "${!kernels[@]}"; do
        policies+=kernel:${kernels[i]},
        model=$(model_of "${releases[i]}")
        [[ ,$policies == *,$model,* ]] || policies+=$model,
    done
    found=$(hashes "$name" "${policies%,}")
    recorded=$(awk '$1 == "recorded" { print $NF }' <<<"$found")
    kernel=$(awk -v name="$name" '$1 == "capture" && $2 == name { print $4 }' "$top_dir/traces/MANIFEST")
    [ -n "$kernel" ] || kernel=$(awk '$1 == "recorded" { print $2 }' <<<"$found")
    short=${kernel%%-*}
    line="| $name | $short |"
    for i in "${!kernels[@]}"; do
        # `hashes` prints the policies in the order of -p, so line i + 1 belongs to kernel i.
        read -r _ hash count < <(grep "^kernel:" <<<"$found" | sed -n "$((i + 1))p")
        model=$(awk -v model="$(model_of "${releases[i]}")" '$1 == model { print $2 }' <<<"$found")
        if [ "$hash" = "$recorded" ]; then line+=" **${hash:0:8}**"; else line+=" ${hash:0:8}"; fi
        if [ "$hash" = "$model" ]; then
            echo "$i $count" >>"$as_model"
        else
            line+=" (model: ${model:0:8})"
        fi
        line+=" |"
        # fill-4k-enospc is excluded, because two writers raced in it, so no replay can reproduce its decisions.
        [ "$short" != "${releases[i]%%-*}" ] || [ "$hash" = "$recorded" ] || [ "$name" = fill-4k-enospc ] ||
            worst=3
    done
    echo "$line"
    return $worst
}

lines=$(mktemp "$E4R_LAB/drift.XXXXXX")
as_model=$(mktemp "$E4R_LAB/drift.XXXXXX")
trap 'rm -f "$lines" "$as_model"' EXIT
# Prints the last line: the number of captures and of decisions on which model and code agree.
totals_of() {
    local i
    printf '| as the model: captures, decisions | |'
    for i in "${!kernels[@]}"; do
        awk -v tree="$i" '$1 == tree { ++captures; sum += $2 }
            END {
                text = sprintf("%d", sum)
                while (match(text, /[0-9][0-9][0-9][0-9]($|,)/))
                    text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
                printf " %d, %s |", captures, text
            }' "$as_model"
    done
    echo
}
worst=0
{
    echo "| capture | recorded on |$(printf ' %s |' "${releases[@]}")"
    echo "|---|---|$(printf -- '---|%.0s' "${releases[@]}")"
    for name in $(names); do row "$name" || { worst=$? && [ "$worst" = 3 ]; }; done
    totals_of
    exit $worst
} | tee "$lines" || worst=${PIPESTATUS[0]}
[ -z "$into" ] || [ "$worst" = 1 ] || put_table "$into" "<!-- drift -->" "$lines"
exit "$worst"
