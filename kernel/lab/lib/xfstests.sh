# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Prepares a checkout of xfstests: builds it and adds this project's tests. Sourced by xfstests.sh after
# common.sh.

own_tests=$kernel_dir/xfstests
# The files and programs that the build of xfstests and its ext4 tests need.
xfstests_needs="/usr/include/xfs/xfs.h /usr/include/uuid/uuid.h /usr/include/sys/acl.h /usr/include/libaio.h
    /usr/include/liburing.h /usr/include/attr/attributes.h autoconf automake libtoolize make gcc
    mkfs.ext4 e2fsck resize2fs xfs_io bc perl gawk setfattr setfacl quota fsverity keyctl killall fio
    dbench dmsetup"

# missing_for_xfstests: prints the files and programs that are missing, in one line.
missing_for_xfstests() {
    local what
    for what in $xfstests_needs; do
        case $what in
        /*) [ -e "$what" ] || echo "$what" ;;
        *) command -v "$what" >/dev/null || echo "$what" ;;
        esac
    done | paste -sd' '
}

# state_of DIR: prints a word that changes when the contents of DIR change.
state_of() {
    {
        echo "$1"
        git -C "$1" rev-parse HEAD 2>/dev/null || (cd "$1" && find . -type f -printf '%p %s %T@\n' | sort)
        # Compare tracked files only, because a build leaves many other files.
        git -C "$1" diff HEAD 2>/dev/null || true
    } | sha256sum | cut -c1-12
}

# prepare_checkout DIR: makes a copy of DIR under $E4R_LAB/xfstests, builds it, adds this project's tests, and prints
# its path. DIR stays unchanged. Each state of DIR and of this project's tests has its own copy.
prepare_checkout() {
    local source=$1 built copy missing
    missing=$(missing_for_xfstests)
    [ -z "$missing" ] || die "missing: $missing. Run tools/setup.sh xfstests"
    mkdir -p "$E4R_LAB/xfstests"
    built=$E4R_LAB/xfstests/built-$(state_of "$source")
    [ -e "$built/.lab-built" ] || build_checkout "$source" "$built"
    copy=$(cd "$kernel_dir" && find xfstests reports/dio-eof -type f -print0 | sort -z |
        xargs -0 sha256sum | sha256sum | cut -c1-12)
    copy=$E4R_LAB/xfstests/tests-${built##*-}-$copy
    [ -e "$copy/.lab-ready" ] || add_own_tests "$built" "$copy"
    echo "$copy"
}

build_checkout() {
    note "building a copy of $1"
    rm -rf "$2"
    mkdir -p "$2"
    if git -C "$1" rev-parse HEAD >/dev/null 2>&1; then
        # Copy tracked files only, without the user's build products.
        (cd "$1" && git ls-files -z | tar --null --ignore-failed-read -T - -cf -) | tar -xf - -C "$2" ||
            die "no copy of $1"
    else
        cp -a "$1/." "$2" || die "no copy of $1"
    fi
    make -C "$2" -j"$jobs" >"$2.log" 2>&1 || {
        grep -E 'error|Error' "$2.log" | tail -5 >&2
        die "$1 does not build (log: $2.log)"
    }
    touch "$2/.lab-built"
}

# add_own_tests BUILT COPY: adds kernel/xfstests to a copy that shares the files of BUILT. The program
# src/NAME.c of a test goes into src/ of the copy.
add_own_tests() {
    local dir file program
    rm -rf "$2"
    cp -al "$1" "$2" || die "no copy of $1"
    for dir in generic ext4; do
        [ -z "$(cd "$own_tests/$dir" && for file in [0-9]*; do ls "$2/tests/$dir/$file"; done 2>/dev/null)" ] ||
            die "a test of $own_tests/$dir has a number that xfstests has too"
        cp "$own_tests/$dir"/[0-9]* "$2/tests/$dir/" || die "no copy of the tests of $own_tests/$dir"
        rm -f "$2/tests/$dir/group.list"
        (cd "$2/tests/$dir" && PATH=$2/tools:$PATH ../../tools/mkgroupfile group.list) >"$2.log" 2>&1 ||
            die "no list of groups of tests/$dir (log: $2.log)"
    done
    while IFS= read -r program; do
        mkdir -p "$2/$(dirname "$program")"
        gcc -O2 -Wall -o "$2/${program%.c}" "$own_tests/$program" >"$2.log" 2>&1 ||
            die "$own_tests/$program does not compile (log: $2.log)"
    done < <(cd "$own_tests" && find src -name '*.c')
    touch "$2/.lab-ready"
}

# all_tests COPY: prints a line "DIR/NUMBER GROUP..." for each test that runs on ext4.
all_tests() {
    local dir
    for dir in ext4 generic; do
        sed -n "s/#.*//; s|^\([0-9][-0-9A-Za-z]* .*\)|$dir/\1|p" "$1/tests/$dir/group.list"
    done
}

# in_groups GROUP...: reads the lines of all_tests, and prints the tests that are in at least one of the groups.
# "ext4/quick" means the group quick of the directory ext4; "quick+punch" means tests that are in both groups.
in_groups() {
    awk -v wanted="$*" '
        BEGIN { n = split(wanted, group, " ") }
        function is_in(name,   i) {
            if (name == "all") return 1
            for (i = 2; i <= NF; ++i) if (name == $i || name == dir "/" $i) return 1
            return 0
        }
        {
            dir = $1; sub(/\/.*/, "", dir)
            for (g = 1; g <= n; ++g) {
                missing = parts = split(group[g], part, "+")
                for (p = 1; p <= parts; ++p) missing -= is_in(part[p])
                if (!missing) { print; next }
            }
        }'
}

# choose_tests COPY GROUPS EXCLUDED NAMES: prints the names of tests, in order. GROUPS and EXCLUDED are lists separated
# by commas; NAMES are patterns separated by spaces. Fails for an unknown group or name.
choose_tests() {
    local copy=$1 groups=${2//,/ } excluded=${3//,/ } names=$4 all chosen=() pattern test found group
    all=$(all_tests "$copy")
    for group in $groups $excluded; do
        # shellcheck disable=SC2086 # word splitting is intended
        [ -n "$(in_groups $group <<<"$all")" ] || die "no group '$group' in $copy: see group.list in its tests/*"
    done
    for pattern in $names; do
        found=0
        while read -r test _; do
            # shellcheck disable=SC2053 # the pattern is intended
            if [[ $test == $pattern ]]; then chosen+=("$test") found=1; fi
        done <<<"$all"
        [ $found = 1 ] || die "no test '$pattern': give names like ext4/001 or patterns like 'generic/00?'"
    done
    {
        # shellcheck disable=SC2086 # word splitting is intended
        [ -z "$groups" ] || in_groups $groups <<<"$all"
        for test in "${chosen[@]}"; do grep "^$test " <<<"$all"; done
    } | sort -u | {
        # shellcheck disable=SC2086 # word splitting is intended
        if [ -n "$excluded" ]; then grep -vxFf <(in_groups $excluded <<<"$all"); else cat; fi
    } | cut -d' ' -f1
}

# allowed_cpus: prints the CPUs that this process may use, one per line.
allowed_cpus() {
    awk '/^Cpus_allowed_list:/ {
        n = split($2, range, ",")
        for (i = 1; i <= n; ++i) {
            ends = split(range[i], end, "-")
            for (cpu = end[1]; cpu <= end[ends]; ++cpu) print cpu
        }
    }' /proc/self/status
}

# mkfs_of CONFIG: prints the options of mke2fs for both disks.
mkfs_of() {
    case $1 in
    4k) echo "-b 4096" ;;
    1k) echo "-b 1024" ;;
    bigalloc) echo "-b 4096 -O bigalloc -C 65536" ;;
    *) return 1 ;;
    esac
}

# log_words TARGET DMESG: prints "TEST LINE" for each line of trouble in a kernel log. TEST is the test that was
# running. Ignores ext4's messages about file systems that a test damages on purpose.
log_words() {
    local trouble="$trouble"
    trouble="run fstests [a-z0-9]+/|${trouble/EXT4-fs error|JBD2: .*rror|data will be lost|Data will be lost|/}"
    find_trouble "$1" "$2" | awk '
        match($0, /run fstests [^ ]+/) { test = substr($0, RSTART + 12, RLENGTH - 12); next }
        test != "" && !(test in seen) { seen[test] = 1; gsub(/\t/, " "); print test, $0 }'
}
