# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Reads kinds.table and makes start images. Sourced after common.sh.

kinds_table=${E4R_KINDS:-$lab_dir/kinds.table}

list_kinds() {
    awk '$1 == "kind" { print $2 }' "$kinds_table"
}

known_kind() {
    list_kinds | grep -qxF -- "$1"
}

# kind_field KIND FIELD: prints the rest of the line FIELD, or nothing if KIND has no such line.
kind_field() {
    awk -v kind="$1" -v field="$2" '
        $1 == "kind" { inside = $2 == kind; next }
        inside && $1 == field { sub(/^[ \t]*[^ \t]+[ \t]*/, ""); print; exit }' "$kinds_table"
}

# target_of_kind KIND: prints the target of the guests in which this kind is captured.
target_of_kind() {
    local target
    target=$(kind_field "$1" target)
    echo "${target:-uml}"
}

# kinds_of TARGET: prints the kinds that are captured in guests of that target.
kinds_of() {
    local kind
    for kind in $(list_kinds); do
        [ "$(target_of_kind "$kind")" != "$1" ] || echo "$kind"
    done
}

# lacking TREE WORD...: prints the mount options and knobs (NAME or NAME=VALUE) among the words that the kernel of TREE
# does not have.
lacking() {
    local word name ext4
    ext4=$(tree_of "$1")/fs/ext4
    for word in "${@:2}"; do
        name=${word%%=*}
        case $name in
        rw | defaults) ;; # these are not ext4's options
        *) grep -qsE "\"${name}[\"=]|ATTR_LIST\($name\)" "$ext4/super.c" "$ext4/sysfs.c" || echo "$name" ;;
        esac
    done
}

# lacking_of_kind TREE KIND: prints the mount options and knobs of KIND that the kernel of TREE does not have.
lacking_of_kind() {
    # shellcheck disable=SC2046 # word splitting is intended
    lacking "$1" $(kind_field "$2" mount | tr , ' ') $(kind_field "$2" knobs)
}

# capture_name KIND SEED WARM TREE: prints the name of a capture.
capture_name() {
    local name=$1-s$2
    [ "$3" = 0 ] || name+=w
    [ "$4" = base ] || name+=-$4
    echo "$name"
}

# make_start_image KIND SEED FILE: makes a start image. Its contents depend only on KIND and SEED.
make_start_image() {
    local fill packed
    packed=$(kind_field "$1" image)
    if [ -n "$packed" ]; then
        unpack_start_image "$packed" "$3"
        return
    fi
    fill=$(kind_field "$1" fill)
    # Without a fill, every group stays as mke2fs has made it.
    # shellcheck disable=SC2086 # word splitting is intended
    "$(project_build)/test/support/make_fragmented" "$3" --size "$(kind_field "$1" size)" \
        --mke2fs "-t ext4 $(kind_field "$1" mke2fs)" --seed "$2" ${fill:---skip-percent 100}
}

# unpack_start_image NAME FILE: unpacks an image of kernel/lab/images.
unpack_start_image() {
    local into
    into=$(mktemp -d "$E4R_LAB/unpack.XXXXXX")
    zstd -dcq "$lab_dir/images/$1.image.tar.zst" | tar -xS -C "$into"
    mv "$into/$1.img" "$2"
    rmdir "$into"
}

project_build() {
    echo "${E4R_BUILD:-$top_dir/build/release}"
}

# build_project TARGET...: builds targets of the release preset.
build_project() {
    alone build_targets "$(project_build)" "$@"
}

# build_targets BUILD TARGET...: builds targets in this build directory.
build_targets() {
    local build=$1
    shift
    if [ ! -e "$build/build.ninja" ]; then
        (cd "$top_dir" && cmake --preset release >/dev/null) || die "cmake failed"
    fi
    cmake --build "$build" --target "$@" -j"$jobs" >"$E4R_LAB/project.log" 2>&1 || {
        tail -20 "$E4R_LAB/project.log" >&2
        die "building $* failed: $E4R_LAB/project.log"
    }
}

# build_programs [TARGET]: builds the workload programs for the target's guests.
build_programs() {
    local target=${1:-uml} cross
    cross=$(cross_of "$target")
    alone make -s -C "$lab_dir/workloads" OUT="$(programs_of "$target")" CC="${cross}gcc" CXX="${cross}g++" \
        "$([ -n "$cross" ] && echo programs || echo all)"
}
