# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Code shared by the steps of the lab. Sourced, never run.
#
# Under $E4R_LAB (default: build/lab of this checkout):
#   base/               Debian's 6.1 as a git repository with one commit, branch "base"
#   6.12/ 7.3/          the same for Debian's other kernels
#   5.10/ ...           the same for trees that fetch.sh --tree has copied
#   SERIES/             a git worktree of one of them with a series applied, branch "series/SERIES"
#   TREE/O-TARGET-VARIANT/   a build directory; inside its tree, so that paths stay relative and ccache
#                            reuses objects of other trees
#   bin/                the workload programs
#   runs/               a directory per guest: disk copies, log, the job's output files
set -euo pipefail

# shellcheck disable=SC2034 # used by the steps
lab_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kernel_dir=$(dirname "$lab_dir")
top_dir=$(dirname "$kernel_dir")
E4R_LAB=${E4R_LAB:-$top_dir/build/lab}
mkdir -p "$E4R_LAB"
E4R_LAB=$(cd "$E4R_LAB" && pwd)
export E4R_LAB
# shellcheck disable=SC2034 # used by the steps
jobs=${E4R_LAB_JOBS:-2}

# Kernels that fetch.sh can download. The tree of 6.1 is "base".
debian_bases="6.1 6.12 7.3"

# list_bases: prints Debian's bases, and the trees that fetch.sh --tree has copied. It does not list the trees of
# series: they are git worktrees, in which .git is a file, not a directory.
list_bases() {
    local repository name
    for repository in "$E4R_LAB"/*/.git/; do
        name=$(basename "$(dirname "$repository")")
        case " base * $debian_bases " in
        *" $name "*) ;;
        *) echo "$name" ;;
        esac
    done
    tr ' ' '\n' <<<"$debian_bases"
}

# is_copied NUMBER: whether a base is a tree that fetch.sh --tree has copied.
is_copied() {
    [[ " $debian_bases " != *" $1 "* ]]
}

# is_stock TREE: whether the tree is a base.
is_stock() {
    [ "$1" = base ] || list_bases | grep -xF "$1" >/dev/null # with -q, SIGPIPE would end list_bases
}

step=$(basename "$0" .sh)

die() {
    echo "$step: $*" >&2
    exit 1
}

usage() {
    sed -n '/^# Usage:/,/^[^#]/ { /^# shellcheck/d; /^#/ s/^# \{0,1\}//p }' "$0" >&2
    exit 2
}

note() {
    echo "$step: $*" >&2
}

need() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || die "no '$tool': run tools/setup.sh lab"
    done
}

# hold LOCK: locks the file LOCK until this shell ends. Waits while another process of the lab holds the lock.
hold() {
    exec 9>"$1"
    flock 9
}

# alone COMMAND...: waits until no other process of the lab is inside alone(), then runs the command.
alone() (
    hold "$E4R_LAB/lock"
    "$@"
)

# tree_of TREE: prints the directory of a tree: "base", the number of another base, or the name of a series
# (lib/series.sh).
tree_of() {
    [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9.,_-]*$ ]] || die "'$1' is not a name of a series"
    echo "$E4R_LAB/$1"
}

# base_of TREE: prints the number of the base of TREE, which may be a series.
base_of() {
    local number
    for number in $(list_bases); do
        [[ $1 != "$number" && $1 != "$number"-* ]] || { echo "$number" && return; }
    done
    echo 6.1
}

# topics_of TREE: prints the topics of the series TREE, without the number of the base.
topics_of() {
    echo "${1#"$(base_of "$1")"-}"
}

# build_dir TREE TARGET VARIANT: prints the path of the build directory.
build_dir() {
    echo "$(tree_of "$1")/O-$2-$3"
}

# Prints the path of a build's guest kernel: a UML executable, a bzImage or an Image.
kernel_image() {
    case $2 in
    uml | uml-smp) echo "$(build_dir "$1" "$2" "$3")/linux" ;;
    qemu) echo "$(build_dir "$1" "$2" "$3")/arch/x86/boot/bzImage" ;;
    arm64) echo "$(build_dir "$1" "$2" "$3")/arch/arm64/boot/Image" ;;
    *) die "no target '$2': uml, uml-smp, qemu or arm64" ;;
    esac
}

# root_of TARGET: prints the root directory of the target's guests. uml and qemu use this machine's root; root.sh makes
# the others.
root_of() {
    case $1 in
    arm64) echo "$E4R_LAB/root-$1" ;;
    *) echo / ;;
    esac
}

# cross_of TARGET: prints the prefix of the target's cross compilers, or nothing if the native compilers are used.
cross_of() {
    [ "$1" = arm64 ] || return 0
    command -v aarch64-linux-gnu-g++ >/dev/null || die "no 'aarch64-linux-gnu-g++': run tools/setup.sh arm64"
    echo aarch64-linux-gnu-
}

# programs_of TARGET: prints the directory of the workload programs for the target's guests.
programs_of() {
    case $1 in
    arm64) echo "$E4R_LAB/bin-$1" ;;
    *) echo "$E4R_LAB/bin" ;;
    esac
}

# Prints the version of the unpacked source, such as 6.1.192.
tree_version() {
    make -s --no-print-directory -C "$1" kernelversion 2>/dev/null
}

# totals FILE: prints the last row of agree.sh's table in FILE: sums over the captures with one writer, and sums over
# the captures with several writers.
totals() {
    awk -F ' *[|] *' '
        function number(text) { gsub(/,/, "", text); return text + 0 }
        function grouped(n,   text) {
            text = sprintf("%d", n)
            while (match(text, /[0-9][0-9][0-9][0-9]($|,)/))
                text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
            return text
        }
        NR > 2 && $6 != "" {
            many = $4 > 1
            ++captures[many]; decisions[many] += number($5)
            races[many] += $8; errors[many] += $9
        }
        END {
            for (many = 0; many <= 1; ++many)
                if (captures[many])
                    printf "| **%d captures** | | %s | **%s** | %.4f | | %d | %d | | | |\n",
                        captures[many], many ? "2+" : "1", grouped(decisions[many]),
                        100 * (1 - (races[many] + errors[many]) / decisions[many]), races[many],
                        errors[many]
        }' "$1"
}

# agreement_row KIND SEED WRITERS STATUS REPORT [OPEN]: prints a line of the table from verify's output in REPORT and
# its exit STATUS. Returns STATUS, with two exceptions. If STATUS is 0, but verify did not compare decisions, mb_groups
# and mb_stats, returns 3. If STATUS is 3, returns 0 if there were several writers and all differences are races, or if
# OPEN is 1 and only counters of mb_stats differ.
agreement_row() {
    awk -v kind="$1" -v seed="$2" -v writers="$3" -v status="$4" -v open="${6:-0}" '
        function number(text) { gsub(/,/, "", text); return text + 0 }
        $1 == "decisions" { decisions = $2 }
        $1 == "identical" { followed = $3 }
        $1 == "free-running," { free = $4 }
        $1 == "identical" { differ = number(decisions) - number($2) }
        /^overlapping another thread/ { races = number($NF) }
        $1 == "mb_groups:" { groups = $2 == "all" ? "yes" : "no" }
        $1 == "mb_stats:" {
            if (/has none$/) stats = "none"
            else stats = $2 == $4 && !/missing/ ? "yes" : "no (" $2 " of " $4 ")"
        }
        /^first (mismatch|divergence|difference)/ { where = $0; getline more; where = where ": " more }
        END {
            gsub(/[|]/, "/", where)
            printf "| %s | %s | %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", kind, seed,
                writers == "" ? 1 : writers, decisions, followed, free, races, differ - races, groups,
                stats, where
            whole = number(decisions) > 0 && groups != "" && stats != ""
            if (status == 0 && !whole) exit 3
            if (open && status == 3 && whole && differ == 0 && groups == "yes") exit 0
            exit status == 3 && whole && writers > 1 && differ > 0 && differ == races ? 0 : status
        }' "$5"
}

# put_table FILE MARK TABLE: in a Markdown file, replaces the text between the lines MARK and "<!-- end -->" with the
# table.
put_table() {
    grep -qxF -- "$2" "$1" || die "$1 has no line '$2'"
    awk -v mark="$2" -v table="$3" '
        $0 == mark { print; print ""; while ((getline line < table) > 0) print line; print ""
                     skip = 1; next }
        $0 == "<!-- end -->" { skip = 0 }
        !skip' "$1" >"$1.new"
    mv "$1.new" "$1"
}
