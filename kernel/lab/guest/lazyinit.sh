# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# Functions for the lazyinit-* jobs inside the guest. The jobs source this file after lib.sh. They use $DISK, mounted on
# $FS.
# shellcheck source=kernel/lab/guest/null_blk.sh
. "$LAB/guest/null_blk.sh"

# make_lazy [MKE2FS OPTIONS]: makes a file system in which no inode table is marked as initialized. $size, if set, is
# its size.
make_lazy() {
    mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$@" "$DISK" \
        ${size:+"$size"}
    groups=$(groups_on_disk)
    expect "groups marked by mke2fs" "$(zeroed_on_disk)" 0
}

groups_on_disk() {
    dumpe2fs "$DISK" 2>/dev/null | grep -c '^Group [0-9]'
}

# Prints the number of groups that dumpe2fs marks as ITABLE_ZEROED.
zeroed_on_disk() {
    dumpe2fs "$DISK" 2>/dev/null | awk '/ITABLE_ZEROED/ { n++ } END { print n + 0 }'
}

# make_cached_disk: makes a null_blk disk with the volatile cache named by $CACHE (lazyinit-postmark.sh).
make_cached_disk() {
    case ${CACHE:=none} in
    none) make_null_blk ;;
    null_blk) make_null_blk cache_size=256 ;;
    loop)
        make_null_blk
        DISK=$(losetup -f --show "$DISK")
        ;;
    esac
}

# Prints the number of flushes of the disk so far.
flushes() {
    awk '{ print $16 }' "/sys/class/block/$(basename "$DISK")/stat"
}

# expect WHAT FOUND WANTED: prints a message and fails unless FOUND equals WANTED.
expect() {
    [ "$2" = "$3" ] || { say "$1: $2, not $3" && return 1; }
}

# expect_that WHAT CONDITION...: prints a message and fails unless the condition is true. The condition is written as
# for test(1).
expect_that() {
    local what=$1
    shift
    [ "$@" ] || { say "$what: not $*" && return 1; }
}

# has_lazy NAME: whether the kernel has /sys/fs/ext4/DISK/lazyinit_NAME. The series for 7.3 has only wait_mult and left;
# stock has none.
has_lazy() {
    [ -e "$(knobs)/lazyinit_$1" ]
}

# lazy NAME: prints the attribute lazyinit_NAME. On kernels without it, "left" and "done" come from dumpe2fs, which
# reads the kernel's buffers of the mounted disk, and "state" is "running" until nothing is left.
lazy() {
    if has_lazy "$1"; then
        cat "$(knobs)/lazyinit_$1"
        return
    fi
    case $1 in
    left) echo $(($(groups_on_disk) - $(zeroed_on_disk))) ;;
    done) echo $(($(groups_on_disk) - $(lazy left))) ;;
    state) if [ "$(lazy left)" = 0 ]; then echo idle; else echo running; fi ;;
    *) return 1 ;;
    esac
}

# hold: stops initialization until let_go. Without a pause attribute, it sets a wait of hours.
hold() {
    if has_lazy state; then set_lazy state pause; else set_lazy wait_mult 4294967295; fi
}
let_go() {
    if has_lazy state; then set_lazy state resume; fi
    set_lazy wait_mult "$1"
}

# set_lazy NAME VALUE: writes the attribute lazyinit_NAME.
set_lazy() {
    echo "$2" >"$(knobs)/lazyinit_$1"
}

# Prints the state, the number of groups initialized, and the number of groups left.
lazy_state() {
    echo "$(lazy state) $(lazy "done") $(lazy left)"
}

# For each inode table without used inodes, prints its group and its first and last block, according to dumpe2fs.
unused_tables() {
    dumpe2fs "$DISK" 2>/dev/null | awk '
        /^Inodes per group:/ { all = $4 }
        /^Group [0-9]/ { group = $2 + 0 }
        /Inode table at/ { split($4, at, "-") }
        / unused inodes/ && $(NF - 2) == all { print group, at[1], at[2] + 0 }'
}

# wait_until SECONDS COMMAND...: waits until the command succeeds. Fails if that takes longer than SECONDS.
wait_until() {
    local deadline=$((SECONDS + $1 * ${SLOW:-1})) # longer on a slow target: lib/jobs.sh
    shift
    until "$@"; do
        [ $SECONDS -lt "$deadline" ] || { say "not within its time: $*" && return 1; }
        sleep 0.1
    done
}

# unmount_quickly: unmounts $FS. Fails if that takes more than two seconds on a fast guest, or if the lazyinit thread
# does not end.
unmount_quickly() {
    local started=$SECONDS
    umount "$FS"
    expect_that "seconds to unmount" $((SECONDS - started)) -le $((2 * ${SLOW:-1}))
    wait_until 2 no_thread
}

at_least() {
    [ "$(lazy "done")" -ge "$1" ]
}

all_done() {
    [ "$(lazy left)" = 0 ]
}

state_is() {
    [ "$(lazy state)" = "$1" ]
}

no_thread() {
    ! grep -qsx ext4lazyinit /proc/[0-9]*/comm
}

# check_finished: fails unless the file system on disk is intact and every table is initialized.
check_finished() {
    umount "$FS"
    expect "groups marked on disk" "$(zeroed_on_disk)" "$groups"
    e2fsck -fn "$DISK"
}
