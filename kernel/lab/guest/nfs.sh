# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2153
# Functions for an NFS server and client in guests. Jobs and nfs-server.sh source this file after lib.sh.
#   SERVER_DISK=ubd      the exported ext4 file system is on the disk itself
#     delay              it is on a dm-delay device that takes SERVER_MS=20 per request
#     flush              it is on a dm-delay device that takes SERVER_MS=20 per cache flush, and no time otherwise
#   WSIZE=256K           largest transfer that the server allows, and thus that the client uses
#   VERS=4.2             NFS version of the mount (3 is mounted with nolock)
#   MOUNT=               more mount options
#   RATE=400mbit LINK_MS=0 rate that netem sets on the client's link, and round-trip time to the server

server_address=192.168.7.1
client_address=192.168.7.2
export_dir=/mnt/fs
mount_dir=/mnt/nfs
# A prefix for commands that must run on the client's side of the network. It is empty unless the client is in the same
# guest as the server.
client_side=()

# network ADDRESS: sets up this guest's network.
network() {
    ip link set lo up
    # On 7.3 the network device is called vec0.
    [ ! -e /sys/class/net/vec0 ] || ip link set vec0 name eth0
    ip address add "$1/24" dev eth0
    ip link set eth0 up
}

# slow_link DEVICE: makes netem limit the device to the rate RATE and the delay LINK_MS.
slow_link() {
    local delay=()
    [ "${LINK_MS:-0}" = 0 ] || delay=(delay "${LINK_MS}ms")
    tc qdisc replace dev "$1" root netem limit 100000 rate "${RATE:-400mbit}" "${delay[@]}"
}

bytes_of() {
    numfmt --from=iec "$1"
}

# make_export: makes a file system on the disk and mounts it at $export_dir.
make_export() {
    export_disk=$DISK
    case ${SERVER_DISK:-ubd} in
    ubd) ;;
    delay | flush)
        local delays="$DISK 0 ${SERVER_MS:-20}"
        [ "$SERVER_DISK" = delay ] || delays="$DISK 0 0 $DISK 0 0 $delays"
        dmsetup create --noudevsync slow --table "0 $(blockdev --getsz "$DISK") delay $delays"
        dmsetup mknodes slow
        export_disk=/dev/mapper/slow
        ;;
    *) say "no SERVER_DISK '$SERVER_DISK'" && return 1 ;;
    esac
    # shellcheck disable=SC2086 # no word if it is empty
    mke2fs -q -F -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$export_disk" \
        ${EXPORT_SIZE:-}
    mount_export
    chmod 777 "$export_dir"
}

mount_export() {
    mount -t ext4 -o noinit_itable "$export_disk" "$export_dir"
}

# crash_export: discards everything that is only in memory, and mounts the export again, which replays the journal.
crash_export() {
    "$BIN/goingdown" "$export_dir"
    exportfs -ua
    umount "$export_dir"
    mount_export
    exportfs -ra
}

# start_nfsd: starts the daemons and nfsd's threads. Their files are on tmpfs.
start_nfsd() {
    local dir
    for dir in /run /var/lib/nfs; do mount -t tmpfs tmpfs "$dir"; done
    mkdir -p /run/rpcbind /run/sendsigs.omit.d /var/lib/nfs/{v4recovery,sm,sm.bak,rpc_pipefs}
    : >/var/lib/nfs/etab
    : >/var/lib/nfs/rmtab
    echo "$export_dir *(rw,sync,no_subtree_check,no_root_squash,fsid=0${EXPORT_OPTIONS:+,$EXPORT_OPTIONS})" \
        >"$TMPDIR/exports"
    mount --bind "$TMPDIR/exports" /etc/exports
    mount -t nfsd nfsd /proc/fs/nfsd
    rpcbind -w
    exportfs -ra
    rpc.mountd --port 20048
    bytes_of "${WSIZE:-256K}" >/proc/fs/nfsd/max_block_size
    nfsd_threads
}

# nfsd_threads: starts nfsd's threads. Older threads must have ended.
nfsd_threads() {
    rpc.nfsd -V 4.2 "${NFSD_THREADS:-8}"
    echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null || true
}

# Switches on the writeback timers, which guest/init has switched off.
writeback_as_usual() {
    echo 500 >/proc/sys/vm/dirty_writeback_centisecs
}

# mount_nfs: mounts the export.
mount_nfs() {
    local options="vers=${VERS:-4.2},proto=tcp${MOUNT:+,$MOUNT}" path=/
    if [ "${VERS:-4.2}" = 3 ]; then
        options+=,nolock,mountport=20048
        path=$export_dir
    fi
    mkdir -p "$mount_dir"
    "${client_side[@]}" mount.nfs "$server_address:$path" "$mount_dir" -o "$options"
}

# client: sets up this guest's network and mounts the export of the second guest.
client() {
    network $client_address
    await "$E4R_RUN/peer/ready" 60
    slow_link eth0
    mount_nfs
    writeback_as_usual
    local name
    for name in ${SYSCTLS:-}; do sysctl -q "$name"; done
}

# has_write_behind: whether the kernel has the complete series nfs-eager. The series for 7.3 has only the fix for eager
# mounts.
has_write_behind() {
    [ -e /proc/sys/fs/nfs/nfs_max_woutstanding ]
}

# send_early BOUND: makes the mounts of client and mount_nfs send data early. They use write-behind with at most BOUND
# WRITEs in flight, or are eager if the kernel has no write-behind.
send_early() {
    if has_write_behind; then
        SYSCTLS=${SYSCTLS:-fs.nfs.nfs_max_woutstanding=$1}
    else
        MOUNT=${MOUNT:-write=eager}
    fi
}

# within SECONDS COMMAND...: repeats the command until it succeeds. Returns false if it does not succeed within SECONDS.
within() {
    local tenths=$((10 * $1))
    until "${@:2}"; do
        tenths=$((tenths - 1))
        [ $tenths -gt 0 ] || return 1
        sleep 0.1
    done
}

# await FILE SECONDS: waits until the file exists. Fails after SECONDS, which are multiplied on a slow target.
await() {
    within $(($2 * ${SLOW:-1})) test -e "$1" || { say "no $1 within $2 s" && return 1; }
}

# ask REQUEST: sends a request to the second guest, and returns when that guest has carried it out.
ask() {
    rm -f "$E4R_RUN/peer/did-$1"
    touch "$E4R_RUN/peer/$1"
    await "$E4R_RUN/peer/did-$1" "${2:-60}"
}

# Prints the number of WRITEs and COMMITs that the mount has sent, the counters that the series nfs-eager adds, and the
# number of retransmitted TCP segments.
op_counts() {
    awk -v dir="$mount_dir" '
        $1 == "device" { mine = $5 == dir }
        mine && ($1 == "WRITE:" || $1 == "COMMIT:") { print tolower(substr($1, 1, length($1) - 1)) "s", $2 }
        mine && $1 == "behind:" {
            print "behind_sent", $2; print "behind_held", $3
            print "behind_held_ms", $4 / 1000; print "behind_commits", $5
        }' /proc/self/mountstats
    awk '$1 == "Tcp:" && $13 ~ /[0-9]/ { print "retransmits", $13 }' /proc/net/snmp
}

# counts_begin and counts_end record the changes of these counters between the two calls as figures.
counts_begin() {
    op_counts >"$E4R_RUN/counts.before"
}
counts_end() {
    op_counts >"$E4R_RUN/counts.after"
    counted >>"$E4R_RUN/figures"
}
counted() {
    paste -d' ' "$E4R_RUN/counts.before" "$E4R_RUN/counts.after" | awk '{ print $1, $4 - $2 }'
}
