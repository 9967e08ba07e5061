#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that rpm accepts the spec file, and that its %files lists exactly the files that CMake installs.
#   spec_test.sh SPEC BUILD-DIRECTORY
# Skipped (77) if rpmspec is not installed.
set -euo pipefail
spec=$1 build=$2
command -v rpmspec >/dev/null || { echo "no rpmspec here" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
# The directory of the Python package. It is empty in a build with a sanitizer.
python=$(sed -n 's/^E4R_PYTHON_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
# Define the macros that come from Fedora's own packages, not from rpm. %license names a file of the source.
rpmspec -P --define '_docdir /usr/share/doc' --define "_libdir /usr/$libdir" --define "python3_sitearch /usr/${python:-none}" --define 'cmake cmake' --define 'cmake_build cmake --build .' \
    --define 'cmake_install cmake --install .' "$spec" >"$work/parsed"
if grep -n '%{' "$work/parsed"; then
    echo "spec_test: a macro that is not defined" >&2
    exit 1
fi
sed -n '/^%files/,/^%changelog/p' "$work/parsed" | sed -n 's/^%doc //; s/^\//\//p' | grep -v '^/usr/none/' >"$work/patterns"
# The configured prefix may differ, so set it here. Tests and their helpers are not installed.
DESTDIR=$work/root cmake --install "$build" --prefix /usr >/dev/null
# Debian uses another directory for zsh's completions than Fedora.
(cd "$work/root" && find . ! -type d | sed 's/^\.//; s,/zsh/vendor-completions/,/zsh/site-functions/,' | sort) >"$work/installed"
[ "$(wc -l <"$work/installed")" -gt 20 ]

status=0
while read -r pattern; do
    # A directory in %files stands for everything below it.
    [[ $pattern == */ ]] && pattern+='*'
    found=0
    while read -r file; do
        # shellcheck disable=SC2053 # a pattern
        if [[ $file == $pattern ]]; then
            found=1
            echo "$file" >>"$work/taken"
        fi
    done <"$work/installed"
    [ $found = 1 ] || {
        echo "spec_test: nothing is installed that is $pattern" >&2
        status=1
    }
done <"$work/patterns"
left=$(sort -u "$work/taken" | comm -23 "$work/installed" -)
[ -z "$left" ] || {
    echo "spec_test: installed, and in no line of %files: $left" >&2
    status=1
}
exit $status
