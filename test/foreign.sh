# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by scripts that build or run programs for other architectures. These scripts unpack Debian's packages below
# build/ and install nothing. They need Debian 12 on amd64, and root to write to apt's directories.
# shellcheck source=test/mirror.sh
source "$(dirname "${BASH_SOURCE[0]}")/mirror.sh"
apt=(apt-get -o DPkg::Lock::Timeout=300) # the apt command of the functions below; at first, this machine's

# foreign DIRECTORY ARCHITECTURE: sets `apt` to an apt command for that architecture, with lists, archive and status in
# DIRECTORY. apt's data about this machine stays unchanged.
foreign() {
    local uri
    mkdir -p "$1"/etc/apt/{apt.conf.d,preferences.d,trusted.gpg.d} "$1/var/lib/dpkg" \
        "$1"/var/{lib/apt/lists,cache/apt/archives}/partial
    touch "$1/var/lib/dpkg/status"
    uri=$(mirror)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri bookworm main" \
        >"$1/etc/apt/sources.list"
    apt=(apt-get -o "Dir=$1" -o "Dir::State::status=$1/var/lib/dpkg/status" -o "APT::Architecture=$2"
         -o "APT::Architectures=$2" -o APT::Sandbox::User=root)
    "${apt[@]}" -q update >/dev/null
}

# with_dependencies PACKAGE...: prints the packages that $apt would install for these packages.
with_dependencies() {
    "${apt[@]}" -s --no-install-recommends install "$@" | awk '/^Inst/ { print $2 }'
}

# unpack DIRECTORY PACKAGE...: downloads the packages with $apt and unpacks them into DIRECTORY.
unpack() {
    local into=$1 deb
    shift
    rm -rf "$into" "$into.debs"
    mkdir -p "$into" "$into.debs"
    (cd "$into.debs" && "${apt[@]}" -q -o APT::Sandbox::User=root download "$@" >/dev/null)
    for deb in "$into.debs"/*.deb; do dpkg-deb -x "$deb" "$into"; done
    rm -rf "$into.debs"
    touch "$into.done"
}
