# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Runs tests of xfstests one after the other, on two disks. `lab xfstests` starts this job and parses its output
# (lib/xfstests-results.awk). The guest writes only to the run's directory on the host: the root is mounted read-only,
# and the users that tests need are in a copy of /etc.
#   XFSTESTS=DIR             a built checkout; TESTS="ext4/001 ...": its tests to run
#   MKFS="-b 4096"           mke2fs options for both disks; MOUNT=... mount options for both
#   LIMIT=600                seconds per test; a test that takes longer ends the guest
# Writes the completion marker when every test has ended, whether it passed or not. The tests' output is in results/ in
# the run's directory.
# config: xfstests
# disks: 6G 6G
# mem: 1536M
# timeout: 36000
: "${XFSTESTS:?give --set XFSTESTS=DIR, or use lab xfstests}" "${TESTS:?give --set TESTS=...}"
read -ra devices <<<"$DISKS"
home=/mnt/home
results=/mnt/results

# private DIR: keeps writes to DIR inside the guest.
private() {
    mount -t tmpfs tmpfs "$1"
}

# add_user NAME NUMBER: adds a user and a group of that name, in the guest's own /etc.
add_user() {
    echo "$1:x:$2:$2::$home/$1:/bin/bash" >>/etc/passwd
    echo "$1:x:$2:" >>/etc/group
    echo "$1:*:19000:0:99999:7:::" >>/etc/shadow
    mkdir -p "$home/$1"
    chown "$2:$2" "$home/$1"
}

prepare_root() {
    local dir program
    mkdir -p /mnt/etc /mnt/bin /mnt/xfstests /mnt/test /mnt/scratch "$home" "$results" "$E4R_RUN/results"
    # Tests also run as other users, so mount the checkout at a path that all users may enter.
    mount --bind "$XFSTESTS" /mnt/xfstests
    mount -o remount,bind,ro /mnt/xfstests
    # Tests create links in their own directory, so that directory must be writable.
    cp -a /mnt/xfstests/tests /mnt/tests
    mount --bind /mnt/tests /mnt/xfstests/tests
    cp -a /etc/. /mnt/etc
    mount --bind /mnt/etc /etc
    # These programs would wait for a daemon that does not run in a guest. They are replaced, not removed, because tests
    # sleep if they do not find udevadm.
    for program in udevadm logger systemd-run; do ln -s /bin/true "/mnt/bin/$program"; done
    export PATH=/mnt/bin:$PATH
    for dir in /tmp /var/tmp /run; do private $dir; done
    chmod 1777 /tmp /var/tmp
    mkdir -p /dev/shm /dev/pts /dev/mapper
    private /dev/shm
    mount -t devpts devpts /dev/pts
    for dir in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
        [ -e "/dev/${dir%%:*}" ] || ln -s "/proc/self/${dir#*:}" "/dev/${dir%%:*}"
    done
    mount -t debugfs debugfs /sys/kernel/debug
    mount --bind "$E4R_RUN" "$E4R_RUN"
    mount -o remount,bind,ro /
    add_user fsgqa 31001
    add_user fsgqa2 31002
    add_user 123456-fsgqa 31003
    rm -f /etc/mtab
    ln -s /proc/self/mounts /etc/mtab
    ip link set lo up
    hostname lab
}

# KASAN's reports about User Mode Linux itself (lib/guest.sh) are not failures of a test.
quiet_dmesg() {
    local dmesg
    [ -e /dev/ubda ] || return 0
    dmesg=$(type -P dmesg)
    cat >/mnt/bin/dmesg <<TEXT
#!/bin/bash
if [ \$# != 0 ]; then exec $dmesg "\$@"; fi
$dmesg | sed '/BUG: KASAN: stack-out-of-bounds in \(to\|from\)_irq_stack+/d'
TEXT
    chmod 755 /mnt/bin/dmesg
}

prepare_root
if [[ $(uname -r) == *-debug* ]]; then quiet_dmesg; fi
# Write back periodically, as ordinary systems do. Guests of other jobs write back only on request.
echo 500 >/proc/sys/vm/dirty_writeback_centisecs
# shellcheck disable=SC2086 # word splitting is intended
mke2fs -q -F -t ext4 ${MKFS:-} "${devices[0]}"
cat >/mnt/local.config <<TEXT
export FSTYP=ext4
export TEST_DEV=${devices[0]}
export TEST_DIR=/mnt/test
export SCRATCH_DEV=${devices[1]}
export SCRATCH_MNT=/mnt/scratch
export RESULT_BASE=$results
export MKFS_OPTIONS="${MKFS:-}"
export EXT_MOUNT_OPTIONS="${MOUNT:+-o $MOUNT}"
TEXT
# Make libdm create the nodes of its devices itself.
export DM_DISABLE_UDEV=1
export HOST_OPTIONS=/mnt/local.config DIFF_LENGTH=20
cd /mnt/xfstests || exit

# keep: copies the tests' output so far to a directory that the host can read.
keep() {
    cp -r "$results/." "$E4R_RUN/results/" || say "the results could not be copied"
}

# Tests with keys need a session keyring, which a login usually makes. The loop below starts no program during a test,
# because that costs 35 ms in a guest.
exec {out}< <(
    # shellcheck disable=SC2086 # word splitting is intended
    keyctl session xfstests ./check --exact-order $TESTS </dev/null 2>&1
)
name='' began=0 rest='' failed=0
while true; do
    piece='' status=0
    IFS= read -r -t 2 -u "$out" piece || status=$?
    rest+=$piece
    if [[ $rest =~ ^([a-z0-9]+/[0-9]+[-a-zA-Z0-9]*)\ +  ]] && [ "${BASH_REMATCH[1]}" != "$name" ]; then
        if [ $failed = 1 ]; then keep; fi
        name=${BASH_REMATCH[1]} began=$SECONDS failed=0
        echo "xfstests: at $name $SECONDS"
    fi
    if [[ $rest == *"(see $results/"* ]]; then failed=1; fi
    case $rest in "Ran: "*) name='' ;; esac
    if [ $status = 0 ]; then
        echo "xfstests: $rest"
        rest=
    elif [ $status -le 128 ]; then
        break
    elif [ -n "$name" ] && [ $((SECONDS - began)) -gt "${LIMIT:-600}" ]; then
        echo "xfstests: limit $name $SECONDS"
        keep
        echo w >/proc/sysrq-trigger || true
        dmesg >"$E4R_RUN/dmesg"
        false
    fi
done
if [ -n "$rest" ]; then echo "xfstests: $rest"; fi
echo "xfstests: end $SECONDS"
keep
