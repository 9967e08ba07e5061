#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages of Debian 12 that are needed to build, test and run the project. Each argument names a set of
# them. Does nothing if all are installed. Needs root (or sudo) only if something is missing.
#   tools/setup.sh [build|test|python|fuzz|package|debian|lint|lab|xfstests|qemu|arm64|portable|cluster|browser|metrics|endure|corpus|fresh]...
#                                            default: build
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libext2fs-dev comerr-dev libblkid-dev libfmt-dev libzstd-dev
       zlib1g-dev libboost1.81-dev libboost-json1.81-dev libcli11-dev libtraceevent-dev libtracefs-dev
       libsqlite3-dev libprotobuf-dev protobuf-compiler libnlopt-dev libncurses-dev zstd tar)
# clang and libbpf-dev are for `record --events full`; pybind11-dev and python3-dev are for the Python package. Both are
# optional for a build. python3-munkres is named so that python3-fonttools (needed by python3-matplotlib) does not
# install python3-scipy, which needs libboost-dev 1.74: that conflicts with libboost1.81-dev.
test=(clang libbpf-dev xfsprogs libgtest-dev libbenchmark-dev e2fsprogs git make patch
      python3-jsonschema python3-protobuf python3-yaml sqlite3 jq xz-utils fish zsh ccache file man-db rpm strace
      pybind11-dev python3-dev python3-numpy python3-pandas python3-matplotlib python3-munkres
      python3-nbconvert python3-ipykernel mypy python3-venv)
# For `pip install .`, in addition to the packages for building.
python=(python3-dev pybind11-dev python3-venv)
fuzz=(clang libclang-rt-14-dev)
# Other compilers, and the compiler flags that a packager uses.
package=(clang dpkg-dev)
# In addition to the build dependencies in debian/control (build_depends).
debian=(build-essential debhelper dpkg-dev fakeroot git lintian)
lint=(clang-format clang-tidy shellcheck)
# kernel/lab: kernels built from Debian's source, run as User Mode Linux.
lab=(linux-source-6.1 git-email libmailtools-perl gcc make bc bison flex libelf-dev libssl-dev git perl xz-utils ccache
     fio jq procps postmark dmsetup e2fsprogs python3-ply python3-git nfs-kernel-server nfs-common rpcbind
     uml-utilities iproute2 trace-cmd mdadm xfsprogs)
# `lab xfstests`: the build of a checkout of xfstests, and the programs of its ext4 tests.
xfstests=(acl attr autoconf automake bc dbench dmsetup e2fsprogs fio fsverity gawk gcc gettext git indent keyutils
          libacl1-dev libaio-dev libattr1-dev libcap-dev libcap2-bin libgdbm-dev libssl-dev libtool libtool-bin
          liburing-dev make perl psmisc python3 quota uuid-dev uuid-runtime xfslibs-dev xfsprogs)
qemu=(qemu-system-x86)
# For guests with pages of 64 KiB.
arm64=(qemu-system-arm gcc-aarch64-linux-gnu g++-aarch64-linux-gnu)
# For tools/portable.sh, in addition to the packages for building.
portable=(g++-aarch64-linux-gnu file)
# For tests of `sweep --emit`, and of the page of `replay --html`.
cluster=(slurm-wlm munge parallel)
browser=(chromium)
# For tests of the metrics and of the service of `watch`.
metrics=(prometheus prometheus-node-exporter systemd)
# Programs that test/watch/endure.sh runs as writers.
endure=(rsync postgresql)
# The programs that tools/record-corpus.sh records.
corpus=(dbench dpkg e2fsprogs fsmark g++ git jq libelf-dev linux-source-6.1 make postgresql postmark
        python3 qemu-utils rocksdb-tools rsync sqlite3 xz-utils)
# For test/fresh.sh, which installs an empty machine.
fresh=(debootstrap git tar util-linux)

# build_depends: prints the build dependencies in debian/control, without versions and profiles.
build_depends() {
    sed -n '/^Build-Depends:/,/^[^ B]/s/^ \([a-z0-9.+-]*\).*/\1/p' "$(dirname "$0")/../debian/control" |
        grep -v '^debhelper-compat$'
}

wanted=()
for group in "${@:-build}"; do
    case $group in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${build[@]}" "${test[@]}") ;;
    python) wanted+=("${python[@]}") ;;
    fuzz) wanted+=("${fuzz[@]}") ;;
    package) wanted+=("${build[@]}" "${package[@]}") ;;
    debian)
        depends=$(build_depends)
        mapfile -t -O ${#wanted[@]} wanted <<<"$depends"
        wanted+=("${build[@]}" "${test[@]}" "${debian[@]}")
        ;;
    lint) wanted+=("${lint[@]}") ;;
    lab) wanted+=("${lab[@]}") ;;
    xfstests) wanted+=("${lab[@]}" "${xfstests[@]}") ;;
    qemu) wanted+=("${lab[@]}" "${qemu[@]}") ;;
    arm64) wanted+=("${lab[@]}" "${arm64[@]}") ;;
    portable) wanted+=("${build[@]}" "${portable[@]}") ;;
    cluster) wanted+=("${cluster[@]}") ;;
    browser) wanted+=("${browser[@]}") ;;
    metrics) wanted+=("${metrics[@]}") ;;
    endure) wanted+=("${endure[@]}") ;;
    corpus) wanted+=("${corpus[@]}") ;;
    fresh) wanted+=("${fresh[@]}") ;;
    *)
        echo "setup.sh: unknown group '$group': give build, test, python, fuzz, package, debian, lint, lab, xfstests, qemu, arm64, portable, cluster, browser, metrics, endure, corpus or fresh" >&2
        exit 2
        ;;
    esac
done

missing=()
for package in "${wanted[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=()
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup.sh: not root and no sudo: install by hand: ${missing[*]}" >&2
        exit 1
    }
    sudo=(sudo)
fi
echo "setup.sh: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
# Prevents services that come with packages (NFS, munge, Slurm) from being started.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee $policy >/dev/null
    "${sudo[@]}" chmod 755 $policy
    trap '"${sudo[@]}" rm -f $policy' EXIT
fi
"${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
"${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >/dev/null
