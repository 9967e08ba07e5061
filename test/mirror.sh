# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by scripts that download from the Debian mirror in this machine's apt configuration.

# Prints the addresses of Debian 12's archive in this machine's apt configuration.
mirrors() {
    # shellcheck disable=SC2016 # apt's own placeholders
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main'
}

# Prints the first of these addresses. Fails if apt has no such address.
mirror() {
    local uris
    uris=$(mirrors)
    [ -n "$uris" ] || { apt-get -qq -o DPkg::Lock::Timeout=300 update && uris=$(mirrors); }
    [ -n "$uris" ] || {
        echo "${0##*/}: apt has no address of Debian 12 (bookworm): add one to its sources" >&2
        return 1
    }
    echo "${uris%%$'\n'*}"
}
