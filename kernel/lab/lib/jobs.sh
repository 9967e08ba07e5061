# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Runs jobs of kernel/lab/jobs. Sourced by run.sh and ab.sh after common.sh, guest.sh, kinds.sh.
#
# A job is a shell script that runs in the guest. Its first comment lines may contain
#   # image: KIND      the start image, a kind of kinds.table (without this line: no disk)
#   # disks: SIZE...   empty disks in place of an image, one for each SIZE; $DISKS has their names
#   # series: TOPIC    the series that the kernel must have
#   # base: N          the base that the kernel must have, such as 6.1, if the series for other bases lacks the feature
#   # seed: N          seed of the start image (default: 1)
#   # variant: V       variant of the kernel (default: plain)
#   # config: nfs      an addition to the kernel's configuration (configs/nfs.config); the variant becomes V+nfs
#   # set: NAME=VALUE ...   defaults for the job and its peer, overridden by --set
#   # peer: NAME       guest/NAME.sh runs in a second guest, on a network with this one (lib/peer.sh)
#   # peer-mem: SIZE, peer-disk: SIZE    memory and disk of the second guest (default: 512M, an empty disk of 4G)
#   # mem: SIZE        memory of the guest
#   # timeout: S       the guest is killed and the job fails after S seconds, multiplied by patience()
#   # append: ...      kernel arguments
#   # expected: REGEX  trouble that the job causes on purpose: it must appear in the kernel log

# The arguments of `run.sh --disk`.
DISK_FILES=()

list_jobs() {
    local job
    for job in "$lab_dir"/jobs/*.sh; do basename "$job" .sh; done
}

job_file() {
    if [ -e "$lab_dir/jobs/$1.sh" ]; then
        echo "$lab_dir/jobs/$1.sh"
    elif [ -e "$1" ]; then
        realpath "$1"
    else
        die "no job '$1': there are $(list_jobs | paste -sd' ')"
    fi
}

job_field() {
    sed -n "s/^# $2: *//p" "$1" | head -1
}

# check_cpus TARGET: checks that $CPUS, if set, is a valid number for the target.
check_cpus() {
    [ -n "${CPUS:-}" ] || return 0
    [[ $CPUS =~ ^[1-9][0-9]?$ ]] || die "'$CPUS' is not a number of CPUs"
    [ "$1" != uml ] || die "--cpus: this target has one CPU; give --target uml-smp (7.3), qemu or arm64"
}

# patience TARGET VARIANT: prints the factor for time limits, relative to plain UML.
patience() {
    case $1-$2 in
    qemu-debug* | arm64-debug*) echo 8 ;;
    qemu-* | arm64-*) echo 3 ;;
    *-debug*) echo 2 ;;
    *) echo 1 ;;
    esac
}

# variant_for JOB VARIANT: prints VARIANT with the additions that the job needs. If VARIANT is empty, uses the variant
# that the job requests.
variant_for() {
    local job variant config
    job=$(job_file "$1")
    variant=${2:-$(job_field "$job" variant)}
    variant=${variant:-plain}
    config=$(job_field "$job" config)
    case +$variant+ in
    *"+$config+"*) echo "$variant" ;;
    *) echo "$variant${config:++$config}" ;;
    esac
}

# start_image KIND SEED: prints the path of a start image, and makes it if it does not exist. Every run uses a copy.
start_image() {
    local file=$E4R_LAB/images/$1-s$2.img
    if [ ! -e "$file" ]; then
        mkdir -p "$E4R_LAB/images"
        make_start_image "$1" "$2" "$file.$$"
        mv "$file.$$" "$file"
    fi
    echo "$file"
}

# empty_disks RUN SIZE...: sets DISKS to new empty files in RUN.
empty_disks() {
    local size run=$1
    shift
    DISKS=()
    for size; do
        DISKS+=("$run/disk${#DISKS[@]}")
        truncate -s "$size" "${DISKS[-1]}" || die "'$size' is not the size of a disk"
    done
}

# run_job TREE TARGET VARIANT JOB [NAME=VALUE...]: runs the job and prints the run's directory. The disks are
# $DISK_FILES, or the job's empty disks, or a copy of the start image that $IMAGE or the job names.
run_job() {
    local tree=$1 target=$2 variant job image seed run slow limit file
    job=$(job_file "$4")
    variant=$(variant_for "$4" "$3")
    shift 4
    # Time limits inside the guest are multiplied by the same factor.
    slow=$(patience "$target" "$variant")
    # shellcheck disable=SC2046 # word splitting is intended
    set -- "SLOW=$slow" $(job_field "$job" set) "$@"
    image=${IMAGE:-$(job_field "$job" image)}
    seed=${SEED:-$(job_field "$job" seed)}
    run=$(new_run "$(basename "$job" .sh)-${tree//,/+}")  # UML splits disk names at commas
    DISKS=()
    if [ ${#DISK_FILES[@]} -gt 0 ]; then
        for file in "${DISK_FILES[@]}"; do
            [[ $file != *[,:[:space:]]* ]] || die "'$file': a kernel's argument splits there"
        done
        DISKS=("${DISK_FILES[@]}")
    elif [ -n "$(job_field "$job" disks)" ]; then
        # shellcheck disable=SC2046 # word splitting is intended
        empty_disks "$run" $(job_field "$job" disks)
    elif [ -n "$image" ]; then
        known_kind "$image" || die "no image '$image' in kernel/lab/kinds.table"
        cp --sparse=always "$(start_image "$image" "${seed:-1}")" "$run/disk"
        DISKS=("$run/disk")
    fi
    MEM=${MEM:-$(job_field "$job" mem)}
    MEM=${MEM:-768M}
    limit=$(job_field "$job" timeout)
    TIMEOUT=${TIMEOUT:-$((${limit:-600} * slow))}
    APPEND=${APPEND:-$(job_field "$job" append)}
    # By default KASAN stops at its first report, which may be about User Mode Linux itself (find_trouble).
    local append=$APPEND
    if [[ $target-$variant == uml*-debug* ]]; then APPEND+=" kasan_multi_shot"; fi
    EXPECTED=$(job_field "$job" expected)
    VARS=("$@")
    PEER=$(job_field "$job" peer)
    if [ -n "$PEER" ]; then
        PEER_MEM=$(job_field "$job" peer-mem)
        PEER_DISK=$(job_field "$job" peer-disk)
        with_peer "$run" "$tree" "$target" "$variant" "$job"
    else
        guest "$run" "$tree" "$target" "$variant" "$job"
    fi
    APPEND=$append
    rm -f "$run"/disk "$run"/disk[0-9]
    echo "$run"
}
