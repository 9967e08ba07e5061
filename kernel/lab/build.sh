#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Configures and builds one guest kernel. Only changed files are compiled.
#
# Usage: build.sh base|SERIES [--target uml|uml-smp|qemu|arm64] [--variant plain|debug|...[+nfs]]
#
# A series must already have been applied (apply.sh). Prints the path of the kernel. The configuration starts from the
# target's defconfig or allnoconfig. These files of kernel/lab/configs are then added in this order: emulated.config
# (qemu and arm64), TARGET.config, VARIANT.config and TARGET-VARIANT.config. A variant with several parts, such as
# debug+nfs, adds the last two files for each part. A line that Kconfig does not accept is an error. But on a tree that
# fetch.sh --tree has copied, lines about options that the tree does not have are only reported. If a file with the
# number of the base exists (uml-nfs-7.3.config), it replaces the file without the number. A line "# cflags: ..." in
# VARIANT.config gives flags for the compiler.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"

target=uml
variant=plain
name=
while [ $# -gt 0 ]; do
    case $1 in
    --target) target=$2 && shift ;;
    --variant) variant=$2 && shift ;;
    -*) usage ;;
    *) [ -z "$name" ] || usage
        name=$1 ;;
    esac
    shift
done
[ -n "$name" ] || usage
tree=$(tree_of "$name")
base=$(base_of "$name")
image=$(kernel_image "$name" "$target" "$variant")
objects=$(build_dir "$name" "$target" "$variant")
[ -d "$tree" ] || die "no tree $tree: run fetch.sh, and apply.sh for a series"
for part in ${variant//+/ }; do
    [ -e "$lab_dir/configs/$part.config" ] || die "no variant '$part'"
done
need make gcc flex bison bc

fragments() {
    local part fragment
    case $target in
    qemu | arm64) echo "$lab_dir/configs/emulated.config" ;;
    esac
    echo "$lab_dir/configs/${target%-smp}.config"
    [ "$target" != uml-smp ] || echo "$lab_dir/configs/uml-smp.config"
    for part in ${variant//+/ }; do
        for fragment in "$part" "${target%-smp}-$part"; do
            fragment=$lab_dir/configs/$fragment
            if [ -e "$fragment-$base.config" ]; then
                echo "$fragment-$base.config"
            elif [ -e "$fragment.config" ]; then
                echo "$fragment.config"
            fi
        done
    done
}

# The kernel's name for the target's architecture, and the make goal.
case $target in
uml*) arch=um goal=linux ;;
arm64) arch=arm64 goal=Image ;;
*) arch=x86_64 goal=bzImage ;;
esac
cross=$(cross_of "$target")

kmake() {
    make -C "$tree" O="$(basename "$objects")" ARCH=$arch CROSS_COMPILE=$cross -s "$@"
}

# has_option CONFIG_NAME: whether the tree declares this option.
has_option() {
    grep -rqE --include='Kconfig*' "^[[:space:]]*(menu)?config ${1#CONFIG_}\$" "$tree"
}

# Fails unless the final configuration has every line of the fragments.
check_config() {
    local line lost=0
    while read -r line; do
        case $line in
        CONFIG_*)
            grep -qxF "$line" "$objects/.config" && continue
            if is_copied "$base" && ! has_option "${line%%=*}"; then
                note "this kernel has no ${line%%=*}"
            else
                note "lost: $line" && lost=1
            fi ;;
        '# CONFIG_'*' is not set')
            if grep -q "^${line:2:-11}=" "$objects/.config"; then note "lost: $line" && lost=1; fi
            ;;
        esac
    done < <(effective_lines)
    [ $lost = 0 ] || die "Kconfig refused lines of kernel/lab/configs: see above"
}

# If several lines set one option, only the last counts.
effective_lines() {
    local all
    mapfile -t all < <(fragments)
    cat "${all[@]}" | grep -E '^(# )?CONFIG_' |
        awk '{ key = $1 == "#" ? $2 : $1; sub(/=.*/, "", key); last[key] = $0 }
             END { for (key in last) print last[key] }'
}

configure() {
    local start=defconfig all
    [[ $target = uml* ]] || start=allnoconfig
    mapfile -t all < <(fragments)
    kmake $start >/dev/null
    (cd "$tree" && scripts/kconfig/merge_config.sh -m -O "$objects" \
        "$objects/.config" "${all[@]}" >/dev/null)
    kmake olddefconfig >/dev/null
    check_config
}

mkdir -p "$objects"
# If two processes need the same kernel, the second one waits here, and then finds it already built.
hold "$objects/.lab-lock"
stamp=$(effective_lines | sort | sha256sum | cut -d' ' -f1)
if [ "$(cat "$objects/.lab-config" 2>/dev/null)" != "$stamp" ]; then
    (configure) >"$objects/configure.log" 2>&1 || {
        tail -20 "$objects/configure.log" >&2
        die "configuration failed: $objects/configure.log"
    }
    echo "$stamp" >"$objects/.lab-config"
    sed -n '/has no CONFIG_/p' "$objects/configure.log" >&2
fi

compiler=(CC="${cross}gcc")
if command -v ccache >/dev/null; then
    compiler=(CC="ccache ${cross}gcc" KBUILD_BUILD_TIMESTAMP="$(git -C "$tree" log -1 --format=%cD base)")
    export CCACHE_NOHASHDIR=1
fi
# The release that uname prints proves which source a guest runs: it contains the tree's name and the hash of its
# contents.
release=-${name//,/+}-$variant-g$(git -C "$tree" rev-parse --short=10 'HEAD^{tree}')
[ -z "$(git -C "$tree" status --porcelain -uno)" ] || release+=-dirty
note "building $name for $target ($variant)"
started=$SECONDS
mapfile -t parts < <(fragments)
flags=$(sed -n 's/^# cflags: *//p' "${parts[@]}" | paste -sd' ')
kmake -j"$jobs" "${compiler[@]}" KCFLAGS="$flags" "LOCALVERSION=$release" KBUILD_BUILD_USER=lab \
    KBUILD_BUILD_HOST=lab $goal >"$objects/build.log" 2>&1 || {
    grep -E 'error|Error|undefined' "$objects/build.log" | head -20 >&2
    die "failed: $objects/build.log"
}
[ -e "$image" ] || die "make succeeded without $image"
note "done in $((SECONDS - started)) s"
echo "$image"
