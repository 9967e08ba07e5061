# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Runs a job with a second guest, on a private network. Sourced by guest.sh.
#
# A switch connects the guests: uml_switch, or wire (kernel/lab/workloads) on 7.3, which has no device for
# uml_switch.
#
# The second guest's run directory is peer/ in the job's run directory. Both guests see both directories (hostfs). The
# second guest creates peer/ready when it is ready. The job requests an action by creating a file in peer/;
# guest/NAME.sh defines the names of these files. While the job's run directory has a file `cut`, the network is cut.

# peer_variant VARIANT: prints the variant of the second guest: plain, with the additions of the first (plain+nfs). The
# second guest runs no debug variant, because it is not under test, and because nfsd's call chains are too deep for the
# stacks of a User Mode Linux with KASAN.
peer_variant() {
    echo "plain${1#"${1%%+*}"}"
}

# with_peer RUN TREE TARGET VARIANT JOB: does what guest() does, while the second guest runs. The caller sets PEER,
# PEER_MEM and PEER_DISK from the job's description. If the user sets PEER_TREE, the second guest runs the kernel of
# that tree in User Mode Linux with one CPU. Its base must be the same.
with_peer() {
    local run=$1 socket=$1/switch append=$APPEND mem=$MEM expected=$EXPECTED variant
    variant=$(peer_variant "$4")
    local peer_tree=${PEER_TREE:-$2} peer_target=${PEER_TREE:+uml}
    peer_target=${peer_target:-$3}
    [[ $3 = uml* ]] || die "a job with two guests needs User Mode Linux"
    [ "$(base_of "$peer_tree")" = "$(base_of "$2")" ] || die "PEER_TREE: $peer_tree has another base than $2"
    need uml_switch
    [ ${#socket} -lt 100 ] || die "$socket: too long for the name of a socket"
    [ -e "$(kernel_image "$2" "$3" "$4")" ] ||
        die "no kernel: run build.sh $2 --target $3 --variant $4"
    [ -e "$(kernel_image "$peer_tree" "$peer_target" "$variant")" ] ||
        die "no kernel: run build.sh $peer_tree --target $peer_target --variant $variant"
    mkdir "$run/peer"
    start_switch "$run" "$socket" "$2"
    truncate -s "${PEER_DISK:-4G}" "$run/peer/disk"
    local disks=("${DISKS[@]}")
    DISKS=("$run/peer/disk")
    MEM=${PEER_MEM:-512M} APPEND="$append ${switch_device/:NN/:01}" EXPECTED=
    start_guest "$run/peer" "$peer_tree" "$peer_target" "$variant" "$lab_dir/guest/$PEER.sh"
    local status=0
    DISKS=("${disks[@]}")
    MEM=$mem APPEND="$append ${switch_device/:NN/:02}" EXPECTED=$expected
    # The job's guest runs in a subshell, so that this shell can still end the second guest if the job fails.
    (guest "$@") || status=1
    APPEND=$append EXPECTED=
    touch "$run/peer/stop"
    # If the job has failed, do not judge the second guest, since the job's log shows the reason.
    if [ $status != 0 ]; then
        end_guest "$(cat "$run/peer/pid")"
    else
        (end_of_guest "$run/peer" "$peer_tree" "$peer_target" "$variant" 60) || status=1
    fi
    stop_switch
    rm -f "$run/peer/disk"
    [ $status = 0 ] || die "the run with two guests has failed (see above; the other's log: $run/peer/log)"
}

# start_switch RUN SOCKET TREE: starts the switch and leaves its pid in $switch_pid. The switch ends when its standard
# input ends. Leaves in $switch_device the kernel argument that connects a guest to the switch; NN in it stands for the
# guest's number.
start_switch() {
    local switch
    case $(base_of "$3") in
    6.*)
        switch=(uml_switch -unix)
        cut_signals=(STOP CONT)
        switch_device=eth0=daemon,fe:fd:00:00:00:NN,unix,$2
        ;;
    *)
        switch=("$E4R_LAB/bin/wire")
        cut_signals=(USR1 USR2)
        switch_device=vec0:transport=bess,dst=$2,mac=fe:fd:00:00:00:NN,mtu=1500
        ;;
    esac
    switch_run=$1
    mkfifo "$1/switch.input"
    exec {switch_input}<>"$1/switch.input"
    # Packets are datagrams of unix sockets. The default queue of ten datagrams loses packets. A longer queue can be set
    # only in a separate network namespace, in which the guests' processes must run, too.
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --net sh -c 'echo 4096 >/proc/sys/net/unix/max_dgram_qlen; exec "$@"' \
        switch "${switch[@]}" "$2" <&"$switch_input" >"$1/switch.log" 2>&1 &
    switch_pid=$!
    local tries=0
    until [ -S "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || die "uml_switch did not start ($1/switch.log)"
        sleep 0.1
    done
}

# in_network COMMAND...: sets $guest_command to COMMAND. If there is a switch, the command runs in the switch's network
# namespace.
in_network() {
    guest_command=("$@")
    [ -z "${switch_pid:-}" ] ||
        guest_command=(nsenter "--net=/proc/$switch_pid/ns/net" "$@")
}

stop_switch() {
    kill -CONT "$switch_pid" 2>/dev/null || true
    kill -TERM "$switch_pid" 2>/dev/null || true
    wait "$switch_pid" 2>/dev/null || true
    exec {switch_input}<&-
    switch_pid=
}

# Cuts or restores the network as the job requests.
obey_switch() {
    [ -n "${switch_pid:-}" ] || return 0
    if [ -e "$switch_run/cut" ]; then
        kill "-${cut_signals[0]}" "$switch_pid" && touch "$switch_run/is-cut"
    elif [ -e "$switch_run/is-cut" ]; then
        kill "-${cut_signals[1]}" "$switch_pid"
        rm -f "$switch_run/is-cut"
    fi
}
