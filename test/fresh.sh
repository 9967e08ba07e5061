#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs README's commands on a fresh machine: a minimal Debian 12 in a directory, with nothing added but a clone of this
# repository. README determines the commands and their order. Needs root and the Debian mirror in this machine's apt
# configuration. Removes everything that it made, even when interrupted.
#   test/fresh.sh [--installs]    --installs: only installs the packages, and does not build or test; then
#                                 checks that all groups of tools/setup.sh could be installed, too
set -euo pipefail
usage() { sed -n 's/^#   test\(.*\]\).*/usage: test\1/p' "$0" >&2 && exit 2; }
die() { echo "fresh.sh: $*" >&2 && exit 1; }
case "$#${1:-}" in 0 | 1--installs) ;; *) usage ;; esac
top=$(realpath "$(dirname "$0")/..")
[ "$(id -u)" = 0 ] || die "needs root: debootstrap and chroot do"
cd "$top"

# Run this script again in separate namespaces: only its processes see the mounts, and all of them are killed when the
# first one ends for any reason.
if [ -z "${E4R_FRESH:-}" ]; then
    tools/setup.sh fresh
    E4R_FRESH=$(mktemp -d)
    export E4R_FRESH
    # While unshare waits for its child, only SIGKILL ends it.
    trap 'kill -KILL "$!" 2>/dev/null || true; wait "$!" || true; rm -rf --one-file-system "$E4R_FRESH"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    unshare --mount --pid --fork --kill-child --propagation private "$top/test/fresh.sh" "$@" &
    wait $! && exit
    exit 1
fi
root=$E4R_FRESH/root

# commands: prints README's commands, one per line.
commands() {
    sed -n '/^## Two commands/,/^## On /s/^    \(\.\/[^ ]*\).*/\1/p' README.md
}

# shellcheck source=test/mirror.sh
source test/mirror.sh

# as_there FILE...: copies files of this machine to the same paths in the fresh machine.
as_there() {
    local file
    for file; do
        [ ! -e "$file" ] || { mkdir -p "$root${file%/*}" && cp -aT "$(realpath "$file")" "$root$file"; }
    done
}

make_root() {
    local uri
    uri=$(mirror)
    # dpkg need not sync, because nothing here must survive a power failure.
    mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh"
    debootstrap --variant=minbase bookworm "$root" "$uri" >"$E4R_FRESH/log" 2>&1 || {
        tail -n 20 "$E4R_FRESH/log" >&2
        die "debootstrap failed: see above"
    }
    rm -f "$root/etc/apt/sources.list"
    as_there /etc/apt /etc/resolv.conf /etc/hosts /etc/ssl/certs /usr/share/keyrings \
        /usr/local/share/ca-certificates /usr/share/ca-certificates
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount --rbind /dev "$root/dev"
}

# Clones this repository into the fresh machine, and copies uncommitted changes to the clone.
clone() {
    git clone --quiet --no-hardlinks . "$root/e4replay"
    git ls-files -z --deleted | (cd "$root/e4replay" && xargs -0 rm -f)
    git ls-files -z --modified --cached --others --exclude-standard --deduplicate |
        tar --create --null --files-from - --ignore-failed-read 2>/dev/null | tar --extract --directory "$root/e4replay"
}

# there COMMAND...: runs the command in the clone, with the environment of a fresh login.
there() {
    local -a proxies
    mapfile -t proxies < <(env | grep -i '^[a-z]*_proxy=')
    echo "fresh.sh: $*"
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "${proxies[@]}" chroot "$root" sh -c 'cd /e4replay && exec "$@"' - "$@"
}

# installs COMMAND: prints the groups that the command installs with tools/setup.sh.
installs() {
    local lines
    lines=$(grep '^tools/setup\.sh ' "$1") || die "$1 runs no tools/setup.sh: what does it install?"
    while read -r -a words; do there "${words[@]}" </dev/null; done <<<"$lines"
}

# Asks apt whether all groups and the build dependencies in debian/control could be installed together with the packages
# that are installed now.
simulate() {
    local groups
    groups=$(sed -n 's/^#   tools\/setup\.sh \[\(.*\)\].*/\1/p' tools/setup.sh)
    echo 'APT::Get::Simulate "true";' >"$root/etc/apt/simulate"
    # shellcheck disable=SC2086 # word splitting is intended
    there env APT_CONFIG=/etc/apt/simulate tools/setup.sh ${groups//|/ } </dev/null
    there apt-get -qq --simulate build-dep . </dev/null >/dev/null
}

mapfile -t commands < <(commands)
[ ${#commands[@]} -gt 1 ] || die "README has no commands below 'Two commands'"
make_root
clone
for command in "${commands[@]}"; do
    if [ $# = 1 ]; then installs "$command"; else there "$command" </dev/null; fi
done
[ $# = 0 ] || simulate
echo "fresh.sh: $(IFS=,; echo "${commands[*]}")${1:+, $1}: passed on a fresh Debian 12"
