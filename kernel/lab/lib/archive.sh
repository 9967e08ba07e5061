# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Downloads packages from Debian's archive without installing them. Sourced by fetch.sh and root.sh after
# common.sh. A store is a directory with its own sources.list.

# mirror_of SUITE VARIABLE: prints the address of Debian's SUITE. That is $VARIABLE if it is set, or else the mirror in
# this machine's apt configuration.
mirror_of() {
    local address=${!2:-}
    # shellcheck disable=SC2016 # apt expands it
    [ -n "$address" ] || address=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' "Codename: $1" | sort -u | sed -n 1p)
    [ -n "$address" ] ||
        die "apt has no mirror of Debian's $1 (apt-get update?): set $2 to the address of one"
    echo "$address"
}

# source_line ADDRESS SUITE: prints the line for SUITE in a sources.list.
source_line() {
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $1 $2 main"
}

# archive STORE WORD...: runs apt-get with the store's sources and package lists only.
archive() {
    local store=$1
    shift
    apt-get -qq -o "Dir::Etc::SourceList=$store/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o "Dir::State::Lists=$store/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User= "$@"
}

# update_archive STORE [WORD...]: runs apt-get update in the store.
update_archive() {
    mkdir -p "$1/lists/partial"
    archive "$@" update >&2 || die "no lists of Debian's archive: is there a network?"
}
