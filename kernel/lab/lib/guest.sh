# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2054,SC2154
# Runs guests. Sourced by run.sh, ab.sh, capture.sh and boot.sh after common.sh.

# shellcheck source=kernel/lab/lib/peer.sh
source "$lab_dir/lib/peer.sh"

# A run fails if its kernel log matches one of these patterns.
trouble='WARNING: |BUG: |kernel BUG|Oops|Kernel panic|INFO: task .* blocked|INFO: possible|INFO: rcu|'
trouble+='possible recursive locking|possible circular locking|inconsistent lock state|'
trouble+='EXT4-fs error|JBD2: .*rror|data will be lost|Data will be lost|list_(add|del) corruption|'
trouble+='KASAN|UBSAN|# not ok|^ *not ok'

# find_trouble TARGET FILE...: prints the lines of kernel logs that match $trouble. Ignores two reports about User Mode
# Linux itself. Lockdep reports once that fork walks the address space without a lock (force_flush_all, Linux 6.1
# arch/um/kernel/tlb.c; the report is in lib/maple_tree.c), and continues. KASAN reports that an interrupt copies
# thread_info from the end of a stack (to_irq_stack, from_irq_stack, arch/um/kernel/irq.c). Because of kasan_multi_shot
# (lib/jobs.sh), KASAN continues after that.
find_trouble() {
    local target=$1
    shift
    cat "$@" 2>/dev/null | awk -v trouble="$trouble" -v target="${target%-smp}" '
        /WARNING: suspicious RCU usage/ { held = $0; next }
        / suspicious rcu_[a-z_]+\(\) usage!/ {
            if (held != "" && !(target == "uml" && /lib\/maple_tree\.c:/)) print held
            held = ""
        }
        target == "uml" && /BUG: KASAN: stack-out-of-bounds in (to|from)_irq_stack\+/ { next }
        $0 ~ trouble
        END { if (held != "") print held }'
}

# new_run NAME: makes a directory for one guest and prints its path.
new_run() {
    mkdir -p "$E4R_LAB/runs"
    mktemp -d "$E4R_LAB/runs/$1.XXXXXX"
}

# Prints the expected output of uname -r for a build.
expected_release() {
    cat "$(build_dir "$1" "$2" "$3")/include/config/kernel.release"
}

uml_command() {
    local run=$1 kernel=$2 disk letter=0
    guest_command=(env "LD_PRELOAD=$E4R_LAB/bin/xstate.so" "$kernel" "mem=${MEM:-768M}"
        "umid=e4r-$(basename "$run")" "uml_dir=$run/"
        root=/dev/root rootfstype=hostfs rootflags=/ rw "init=$lab_dir/guest/init"
        con=null con0=fd:0,fd:1 "E4R_RUN=$run")
    for disk in "${DISKS[@]}"; do
        guest_command+=("ubd$letter${NO_TRIM:+t}=$disk")
        letter=$((letter + 1))
    done
    # shellcheck disable=SC2206 # word splitting is intended
    guest_command+=(${APPEND:-} quiet)
}

# qemu PROGRAM WORD...: sets guest_command to the emulator PROGRAM, the options that all its guests share, and the
# options WORD...
qemu() {
    local disk
    guest_command=("$1" -accel "tcg,thread=multi" -smp "${CPUS:-2}" -m "${MEM:-1G}" -nographic -no-reboot
        -nodefaults -serial stdio "${@:2}")
    for disk in "${DISKS[@]}"; do
        guest_command+=(-drive "file=$disk,format=raw,if=virtio,cache=unsafe,discard=unmap")
    done
}

# share PATH TAG: adds options to guest_command that share a directory of this machine with the guest.
share() {
    guest_command+=(-virtfs "local,path=$1,mount_tag=$2,security_model=none,multidevs=remap")
}

# The mount options of a share, and the kernel arguments that make "hostroot" the root.
share_options=trans=virtio,version=9p2000.L,cache=loose,msize=262144
root_arguments="root=hostroot rootfstype=9p rootflags=$share_options rw panic=-1 quiet"

qemu_command() {
    qemu qemu-system-x86_64 -cpu max -kernel "$2"
    share / hostroot
    guest_command+=(-append "$root_arguments console=ttyS0 init=$lab_dir/guest/init E4R_RUN=$1 ${APPEND:-}")
}

arm64_command() {
    local root
    root=$(root_of arm64)
    [ -d "$root" ] || die "no $root: run lab root"
    install -m 755 "$lab_dir/guest/init-root" "$root/sbin/init-root"
    qemu qemu-system-aarch64 -M virt -cpu neoverse-n1 -kernel "$2"
    share "$root" hostroot
    share "$E4R_LAB" lab
    share "$lab_dir" scripts
    guest_command+=(-append "$root_arguments console=ttyAMA0 init=/sbin/init-root E4R_RUN=$1 \
E4R_LAB=$E4R_LAB E4R_SCRIPTS=$lab_dir E4R_SHARE=$share_options ${APPEND:-}")
}

# Ends a guest that this script started: first with SIGTERM, then its whole process group with SIGKILL.
end_guest() {
    local pid=$1
    kill -TERM "$pid" 2>/dev/null || return 0
    sleep 2
    kill -KILL -- "-$pid" 2>/dev/null || true
}

# wait_guest PID SECONDS: waits until the guest has ended. Kills it after SECONDS, and then fails.
wait_guest() {
    local pid=$1 deadline=$((SECONDS + $2))
    while kill -0 "$pid" 2>/dev/null; do
        if [ $SECONDS -ge $deadline ]; then
            end_guest "$pid"
            return 1
        fi
        obey_switch
        sleep 0.2
    done
    # Also kill the guest's remaining processes (UML's helper threads).
    kill -KILL -- "-$pid" 2>/dev/null || true
}

# guest RUN TREE TARGET VARIANT JOB: runs a job of kernel/lab/jobs to its end and decides whether it succeeded. The
# caller sets DISKS (an array of files), NO_TRIM, MEM, CPUS, APPEND, TIMEOUT (seconds), EXPECTED (trouble that must be
# in the log) and VARS (an array of NAME=VALUE for the job). In the guest, $DISKS contains the names of all disks, and
# $DISK is the first of them. Leaves these files in RUN: log, dmesg, kernel, figures and the job's output.
guest() {
    start_guest "$@"
    end_of_guest "$1" "$2" "$3" "$4" "${TIMEOUT:-600}"
}

# start_guest RUN TREE TARGET VARIANT JOB: does the first half of guest(): starts the guest. Leaves the files pid and
# token in RUN.
start_guest() {
    local run=$1 tree=$2 target=$3 variant=$4 job=$5 kernel i
    kernel=$(kernel_image "$tree" "$target" "$variant") || exit
    [ -e "$kernel" ] || die "no kernel $kernel: run build.sh $tree --target $target --variant $variant"
    [[ $run != *[[:space:]]* ]] || die "'$run': a kernel command line splits at spaces"
    local token="done-$RANDOM$RANDOM" prefix=/dev/ubd disks letters=abcdefgh
    [[ $target = uml* ]] || prefix=/dev/vd
    disks=$(for ((i = 0; i < ${#DISKS[@]}; ++i)); do echo "$prefix${letters:i:1}"; done | paste -sd' ')
    # Variables for the job. DISK is only a default: the job may use another disk (null_blk).
    {
        printf '%s=%q\n' TOKEN "$token" JOB "$job" LAB "$lab_dir" \
            BIN "$(programs_of "$target")" DISK "${prefix}a" DISKS "$disks"
        local pair
        for pair in "${VARS[@]}"; do printf '%s=%q\n' "${pair%%=*}" "${pair#*=}"; done
    } >"$run/env"
    echo "$token" >"$run/token"
    rm -f "$run/complete" "$run/kernel" "$run/dmesg"
    "${target%-smp}_command" "$run" "$kernel"
    # User Mode Linux with several CPUs needs the host's seccomp. The processes of a guest run on its CPUs in parallel,
    # but the threads of one process do not.
    [ "$target" != uml-smp ] || guest_command+=("ncpus=${CPUS:-2}" seccomp=on)
    in_network "${guest_command[@]}"
    setsid "${guest_command[@]}" </dev/null >"$run/log" 2>&1 &
    echo "$!" >"$run/pid"
}

# end_of_guest RUN TREE TARGET VARIANT SECONDS: does the second half of guest(): waits for the guest and judges its run.
end_of_guest() {
    local run=$1 pid
    pid=$(cat "$run/pid")
    wait_guest "$pid" "$5" || fail_run "$run" "still running after $5 s"
    wait "$pid" 2>/dev/null || true
    judge "$run" "$3" "$(cat "$run/token")" "$(expected_release "$2" "$3" "$4")"
}

# Fails unless the run is valid: the right kernel ran, its log is clean, and the job wrote its completion marker.
judge() {
    local run=$1 target=$2 token=$3 release=$4 found
    [ -e "$run/kernel" ] || fail_run "$run" "the guest did not start"
    found=$(head -1 "$run/kernel")
    [ "$found" = "$release" ] || fail_run "$run" "ran kernel $found, not $release"
    find_trouble "$target" "$run/log" "$run/dmesg" >"$run/trouble"
    if [ -n "${EXPECTED:-}" ]; then
        grep -qE -- "$EXPECTED" "$run/trouble" || fail_run "$run" "no '$EXPECTED' in the kernel log"
        grep -vE -- "$EXPECTED" "$run/trouble" >"$run/unexpected" || true
        mv "$run/unexpected" "$run/trouble"
    fi
    if [ -s "$run/trouble" ]; then
        fail_run "$run" "trouble in the kernel log: $(head -1 "$run/trouble")"
    fi
    [ "$(cat "$run/complete" 2>/dev/null)" = "$token" ] ||
        fail_run "$run" "no completion marker: $(grep '^guest:' "$run/log" | tail -1)"
}

fail_run() {
    tail -15 "$1/log" >&2 || true
    die "$2 (log: $1/log)"
}
