# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Reads the counters of a kernel from a capture, and the counters of a replay. Sourced after common.sh and kinds.sh by
# predict.sh, kernels.sh and knobs.sh.

# Options that these scripts share: the seed of the captures, whether to take them again, the document that receives the
# table, and the directory of the captures.
seed=1w
again=0
into=
out=$E4R_LAB/captures

# common_option OPTION [VALUE]: parses a common option, and sets $words to its number of arguments.
common_option() {
    words=1
    case $1 in
    --again) again=1 && return ;;
    --seed | --into | -o) [ $# -ge 2 ] || usage ;;
    *) usage ;;
    esac
    words=2
    case $1 in
    --seed) seed=$2 ;;
    --into) into=$2 ;;
    -o) out=$2 ;;
    esac
}

prepare_captures() {
    need jq
    mkdir -p "$out"
    build_project e4replay
}

# policy_of_tree TREE: prints the policy that decides like the kernel of TREE, under its name in the JSON documents. A
# series that changes decisions needs a line here. All other series decide like their base.
policy_of_tree() {
    case $1 in
    *-trace-inputs) policy_of_tree "${1%-trace-inputs}" ;;
    7.3-group-goal) echo linux-7.3-group-goal ;;
    7.3-rotalloc) echo rotalloc ;;
    6.12*) echo linux-6.12.77 ;;
    7.3*) echo linux-7.3 ;;
    all | *mballoc-cr1.5*) echo cr1.5 ;;
    *) echo legacy ;;
    esac
}

# take KIND TREE: prints the name of the capture of KIND on TREE. First takes the capture unless it exists.
take() {
    local name warm=()
    [[ $seed != *w ]] || warm=(--warm)
    name=$(capture_name "$1" "${seed%w}" "${#warm[@]}" "$2")
    if [ "$again" = 1 ] || [ ! -e "$out/$name.e2freefrag" ]; then
        "$lab_dir/capture.sh" "$1" --seed "${seed%w}" "${warm[@]}" --kernel "$2" -o "$out" >/dev/null
    fi
    echo "$name"
}

# kernel_figures DIR/NAME: prints lines like "cr1/hits 5" from the mb_stats of a capture, and the number of free extents
# in its end state. Criteria get their 6.1 names, even if the kernel names them differently.
kernel_figures() {
    awk '
        BEGIN {
            split("p2_aligned cr0 goal_fast cr1 best_avail best_avail goal_slow cr2 any_free cr3", p)
            for (i = 1; i in p; i += 2) ours["cr_" p[i]] = p[i + 1]
        }
        /_stats:$/ {
            section = $1; sub(/_stats:/, "", section)
            if (section in ours) section = ours[section]
            next
        }
        /^\t[^\t]/ { section = "" }
        NF == 2 && $2 ~ /^[0-9]+$/ {
            name = $1; sub(/:$/, "", name)
            print (section ? section "/" : "") name, $2 }' "$1.mb_stats"
    # e2freefrag prints wrong numbers for bigalloc, so use mb_groups.
    if dumpe2fs -h "$1.img" 2>/dev/null | grep -q '^Filesystem features:.* bigalloc'; then
        awk '/^#[0-9]/ { extents += $4 } END { print "free_extents", extents + 0 }' "$1.mb_groups"
    else
        sed -n 's/^Num. free extent: */free_extents /p' "$1.e2freefrag"
    fi
}

# file_extents DIR/NAME POLICY: prints a line with the number of extents of the files in a capture. A replay under
# POLICY counts them. Prints nothing unless the replay agrees with every decision of the kernel.
file_extents() {
    local report status=0
    report=$("$(project_build)/tools/e4replay" verify "$1.img" "$1.trace.zst" -p "$2" --no-progress \
        --json -) || status=$?
    # verify exits with 3 if a counter of mb_stats or a decision differs. That is not an error here.
    [ $status = 0 ] || [ $status = 3 ] || die "verifying $1 failed"
    jq -r '.runs[0] | select(.agreement.identical == .agreement.requests) |
        "file_extents \(.files.extents)"' <<<"$report"
}

# live_figures NAME TREE: prints kernel_figures and file_extents of a capture.
live_figures() {
    kernel_figures "$out/$1"
    file_extents "$out/$1" "$(policy_of_tree "$2")"
}

# replay_figures NAME POLICY...: replays a capture and prints lines like "POLICY cr1/hits 5".
replay_figures() {
    local policies
    policies=$(IFS=, && echo "${*:2}")
    "$(project_build)/tools/e4replay" replay "$out/$1.img" "$out/$1.trace.zst" -p "$policies" \
        --no-progress --json - |
        jq -r '.runs[] | .policy as $p |
            (.mb_stats | paths(scalars) as $path |
                "\($p) \($path | join("/") | sub("_stats/"; "/")) \(getpath($path))"),
            "\($p) free_extents \(.free_extents.count)", "\($p) file_extents \(.files.extents)"'
}

# prediction_rows KIND FROM TO: reads "SIDE NAME VALUE" lines and prints a table line for each figure. SIDE is the
# policy FROM, the policy TO, or "kernel" for the counts of the predicted kernel. Returns 3 if a predicted figure
# differs by more than 5 % and by more than one or two searches can explain. Also returns 3 if a side lacks a figure
# that it should have. Ignores a criterion that neither the policy TO nor its kernel has.
prediction_rows() {
    awk -v kind="$1" -v from="$2" -v to="$3" '
        { value[$1, $2] = $3 }
        END {
            n = split("cr0/hits cr1/hits cr1.5/hits best_avail/hits cr2/hits cr3/hits " \
                "groups_scanned extents_scanned cr2/groups_considered cr3/groups_considered " \
                "free_extents file_extents", names, " ")
            for (i = 1; i <= n; ++i) {
                name = names[i]
                own = name ~ /^(cr1\.5|best_avail)\//
                if (own && !((to, name) in value) && !(("kernel", name) in value)) continue
                if (!((to, name) in value) || !(("kernel", name) in value) ||
                    !((from, name) in value || own)) {
                    printf "| %s | %s | missing | | | |\n", kind, name
                    worst = 3
                    continue
                }
                predicted = value[to, name] + 0
                kernel = value["kernel", name] + 0
                off = kernel ? 100 * (predicted - kernel) / kernel : predicted ? 100 : 0
                apart = predicted > kernel ? predicted - kernel : kernel - predicted
                slack = name ~ /hits/ ? 5 : 20
                if ((off > 5 || off < -5) && apart > slack) worst = 3
                change = sprintf("%+.2f", off)
                if (change == "-0.00") change = "+0.00"
                printf "| %s | %s | %d | %d | %d | %s %% |\n", kind, name,
                    value[from, name], predicted, kernel, change
            }
            exit worst
        }'
}
