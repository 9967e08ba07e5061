# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
# What the lazyinit-* jobs share inside the guest. Sourced by them, after lib.sh.
# Its functions look at $DISK, mounted on $FS.

# make_lazy [MKE2FS OPTIONS]: a file system, of $size if set, with no inode table marked as
# initialized.
make_lazy() {
    mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$@" "$DISK" \
        ${size:+"$size"}
    groups=$(dumpe2fs "$DISK" 2>/dev/null | grep -c '^Group [0-9]')
    expect "groups marked by mke2fs" "$(zeroed_on_disk)" 0
}

# Groups that dumpe2fs calls ITABLE_ZEROED.
zeroed_on_disk() {
    dumpe2fs "$DISK" 2>/dev/null | awk '/ITABLE_ZEROED/ { n++ } END { print n + 0 }'
}

# expect WHAT FOUND WANTED
expect() {
    [ "$2" = "$3" ] || { say "$1: $2, not $3" && return 1; }
}

# expect_that WHAT CONDITION...: with the arguments of test(1).
expect_that() {
    local what=$1
    shift
    [ "$@" ] || { say "$what: not $*" && return 1; }
}

# lazy NAME: reads /sys/fs/ext4/DISK/lazyinit_NAME.
lazy() {
    cat "$(knobs)/lazyinit_$1"
}

# set_lazy NAME VALUE
set_lazy() {
    echo "$2" >"$(knobs)/lazyinit_$1"
}

# Groups initialized, and left, as lazyinit_state has them.
groups_done() {
    lazy state | cut -d' ' -f2
}
groups_left() {
    lazy state | cut -d' ' -f3
}

# wait_until SECONDS COMMAND...: fails when it has not come true by then.
wait_until() {
    local deadline=$((SECONDS + $1 * ${SLOW:-1})) # on a slow target longer: lib/jobs.sh
    shift
    until "$@"; do
        [ $SECONDS -lt "$deadline" ] || { say "not within its time: $*" && return 1; }
        sleep 0.1
    done
}

at_least() {
    [ "$(groups_done)" -ge "$1" ]
}

all_done() {
    [ "$(groups_left)" = 0 ]
}

no_thread() {
    ! grep -qsx ext4lazyinit /proc/[0-9]*/comm
}

# The file system on disk is whole and has every table initialized.
check_finished() {
    umount "$FS"
    expect "groups marked on disk" "$(zeroed_on_disk)" "$groups"
    e2fsck -fn "$DISK"
}
