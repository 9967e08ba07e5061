# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the steps of the lab share. Sourced, never run.
#
# Under $E4R_LAB (default: build/lab of this checkout):
#   base/               Debian's kernel source as a git repository with one commit, branch "base"
#   SERIES/             a git worktree of it with a series applied, branch "series/SERIES"
#   TREE/O-TARGET-VARIANT/   a build directory; inside its tree, so that paths stay relative and
#                            ccache finds for one tree what it compiled for another
#   bin/                the workload programs
#   runs/               a directory per guest: disk copies, log, what the job left
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

# Where a tree lives: "base" or the name of a series.
tree_of() {
    [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9.,_-]*$ ]] || die "'$1' is not a name of a series"
    echo "$E4R_LAB/$1"
}

# build_dir TREE TARGET VARIANT
build_dir() {
    echo "$(tree_of "$1")/O-$2-$3"
}

# The guest kernel of a build: a UML executable or a bzImage.
kernel_image() {
    case $2 in
    uml) echo "$(build_dir "$1" "$2" "$3")/linux" ;;
    qemu) echo "$(build_dir "$1" "$2" "$3")/arch/x86/boot/bzImage" ;;
    *) die "no target '$2': uml or qemu" ;;
    esac
}

# Version of the unpacked source: 6.1.192.
tree_version() {
    make -s -C "$1" kernelversion 2>/dev/null
}

# totals FILE: the last row of agree.sh's table in FILE: sums, of captures with one writer and of the
# others.
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

# put_table FILE MARK TABLE: what stands between the line MARK and "<!-- end -->" of a Markdown file
# becomes the table.
put_table() {
    grep -qxF -- "$2" "$1" || die "$1 has no line '$2'"
    awk -v mark="$2" -v table="$3" '
        $0 == mark { print; print ""; while ((getline line < table) > 0) print line; print ""
                     skip = 1; next }
        $0 == "<!-- end -->" { skip = 0 }
        !skip' "$1" >"$1.new"
    mv "$1.new" "$1"
}
