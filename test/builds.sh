#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds without the presets, in the ways in which users and packagers build. Warnings are errors, the quick tests must
# pass, and the programs that `cmake --install` puts into a DESTDIR must run.
#   test/builds.sh [--list] [--all | --turn TEXT | NAME...]    default: --all
#     release      gcc, CMAKE_BUILD_TYPE=Release
#     minimal      without Perfetto, NLopt, libtracefs, libtraceevent, libbpf and Python; runs its golden tests
#     clang        Debian's clang, Release, each file compiled alone, without the BPF program
#     package      with the settings of dpkg-buildpackage: no build type, the flags of dpkg-buildflags with all
#                  hardening and link-time optimisation, and -DNDEBUG
#     debian       dpkg-buildpackage in a clone of HEAD, with its tests, and lintian without errors
#                  or warnings
#     guide        follows docs/adding-a-built-in-policy.md and docs/adding-an-event.md in a clone of HEAD,
#                  block by block
#     wheel        `pip install .` without a network, in a separate virtual environment
#     portable     tools/portable.sh: one static file each for x86_64 and aarch64, which test/portable.sh tests
#   --turn TEXT    only one build, chosen by the hash of TEXT (.ci/run gives a commit)
# The files of a build stay under build/builds/NAME. If E4R_BUILD_TESTS is set, only tests that match this regular
# expression are run.
set -euo pipefail
cd "$(dirname "$0")/.."
all=(release minimal clang package debian guide wheel portable)
# These tests start hundreds of programs or make hundreds of file systems. They are run only with the presets.
slow=$(<test/slow)
# Installed files whose directory is fixed.
installed=(bin/e4replay bin/e4replay-policy-test sbin/mke2fs-lazy sbin/tune2fs-lazy share/man/man1/e4replay.1
           share/man/man1/e4replay-{age,freefrag,info,kernel,map,policies,record,replay,review}.1
           share/man/man1/e4replay-{policy-test,shrinker,sweep,trace,verify}.1
           include/e4replay/{allocator,criterion,e4replay,event,export,free_extents,image,listener,own_policy,plugin}.h
           include/e4replay/{policy,recording,replay,report,result,version}.h
           share/man/man5/{e4c,e4t}.5 share/man/man8/{mke2fs,tune2fs}-lazy.8
            share/e4replay/magic/e4replay share/e4replay/{captures,corpus}/MANIFEST
            share/e4replay/schema/{common,replay.schema,verify.schema}.json
           share/bash-completion/completions/{e4replay,mke2fs-lazy,tune2fs-lazy}
           share/fish/vendor_completions.d/{e4replay,mke2fs-lazy,tune2fs-lazy}.fish)
# Installed files below the library directory, which packagers choose.
libraries=(libe4replay.so libe4replay.so.0 pkgconfig/e4replay.pc
           cmake/e4replay/e4replay-config{,-version}.cmake)
# Installed files below the directory of Python packages.
python=(e4replay/{__init__,policy,report}.py)

usage() {
    sed -n 's/^#   test/usage: test/p' "$0" >&2
    exit 2
}

# configure NAME [CMAKE ARGUMENTS...]: runs cmake for build/builds/NAME.
configure() {
    cmake -S . -B "build/builds/$1" -DE4R_WERROR=ON -DBUILD_TESTING=ON "${@:2}" >/dev/null
}

configure_package() {
    local variable
    export DEB_BUILD_MAINT_OPTIONS="hardening=+all optimize=+lto"
    export DEB_CPPFLAGS_MAINT_APPEND=-DNDEBUG
    # Link-time optimisation compiles while it links, so make warnings errors there, too.
    export DEB_LDFLAGS_MAINT_APPEND=-Werror
    # cmake ignores CPPFLAGS; debhelper adds them to both variables.
    for variable in CFLAGS CXXFLAGS; do
        export "$variable=$(dpkg-buildflags --get $variable) $(dpkg-buildflags --get CPPFLAGS)"
    done
    LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
    export LDFLAGS
    configure package -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX=/usr \
        -DCMAKE_INSTALL_SYSCONFDIR=/etc -DCMAKE_INSTALL_LOCALSTATEDIR=/var
}

configure_release() {
    configure release -DCMAKE_BUILD_TYPE=Release
}

configure_clang() {
    configure clang -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
        -DE4R_UNITY=OFF -DE4R_BPF=OFF
}

# use_tools PREFIX: runs each installed tool once. (The callers use this function in a list with ||, where -e is off, so
# && joins the commands.)
use_tools() {
    [ "$(command -v e4replay)" = "$1/bin/e4replay" ] &&
        mke2fs-lazy -q -F -t ext4 -E itable_init=lazy disk.img 64M &&
        tune2fs-lazy finish disk.img &&
        tune2fs-lazy verify disk.img &&
        e2fsck -fn disk.img &&
        e4replay freefrag disk.img &&
        e4replay policies cr1.5
}

# installs DIR: checks that the files installed below a DESTDIR are complete and run.
installs() {
    local root work prefix libdir pythondir
    root=$PWD/$1/root
    prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$1/CMakeCache.txt")
    libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$1/CMakeCache.txt")
    pythondir=$(sed -n 's/^E4R_PYTHON_DIR:[A-Z]*=//p' "$1/CMakeCache.txt")
    rm -rf "$root"
    DESTDIR=$root cmake --install "$1" >/dev/null
    work=$(mktemp -d)
    (cd "$work" && PATH=$root$prefix/bin:$root$prefix/sbin:$PATH && use_tools "$root$prefix") \
        >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        echo "builds.sh: what $1 installs does not run" >&2
        return 1
    }
    rm -rf "$work"
    local files=("${installed[@]}" "${libraries[@]/#/$libdir/}"
                 share/zsh/site-functions/_{e4replay,mke2fs-lazy,tune2fs-lazy})
    if [ -n "$pythondir" ]; then
        files+=("${python[@]/#/$pythondir/}")
        LD_LIBRARY_PATH=$root$prefix/$libdir PYTHONPATH=$root$prefix/$pythondir /usr/bin/python3 -B -c '
import e4replay
assert e4replay.find_policy("cr1.5").kernel' || {
            echo "builds.sh: the Python package that $1 installs does not run" >&2
            return 1
        }
    fi
    for file in "${files[@]}"; do
        [ -s "$root$prefix/$file" ] || {
            echo "builds.sh: $1 installs no $file" >&2
            return 1
        }
    done
}

# has_files DIR: checks that the packages in DIR contain each installed file exactly once.
has_files() {
    local deb file libdir
    libdir=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    for deb in "$1"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -t; done >"$1/files"
    for file in "${installed[@]}" "${libraries[@]/#/$libdir/}" \
        "${python[@]/#/lib/python3/dist-packages/}" share/zsh/vendor-completions/_{e4replay,mke2fs-lazy,tune2fs-lazy}; do
        [ "$(grep -cE "^\./usr/$file(\.gz)?\$" "$1/files")" = 1 ] || {
            echo "builds.sh: the packages have no $file, or two" >&2
            return 1
        }
    done
}

# Builds the Debian package from the committed files, as a packager does.
build_debian() {
    local dir=build/builds/debian started=$SECONDS
    tools/setup.sh debian
    rm -rf "$dir"
    mkdir -p "$dir"
    git clone -q . "$dir/e4replay"
    (cd "$dir/e4replay" && dpkg-buildpackage -us -uc) >"$dir/log" 2>&1 || {
        tail -50 "$dir/log" >&2
        echo "builds.sh: dpkg-buildpackage failed: $dir/log" >&2
        return 1
    }
    grep -E '^[0-9]+% tests passed' "$dir/log"
    lintian --allow-root --fail-on error,warning "$dir"/*.changes
    has_files "$dir"
    echo "builds.sh: debian passed in $((SECONDS - started)) s"
}

# refuses WORDS COMMAND...: checks that the command fails with one line that contains WORDS.
refuses() {
    local words=$1 status=0 said
    shift
    said=$("$@" 2>&1 >/dev/null) || status=$?
    [ "$status" = 1 ] && [[ $said != *$'\n'* && $said == *"$words"* ]] || {
        echo "builds.sh: ${*##*/}: status $status, '$said' instead of '$words'" >&2
        return 1
    }
}

# Builds without the optional parts. Commands that need such a part must report that it is missing. All others must
# print the same as in a full build.
build_minimal() {
    local dir=$PWD/build/builds/minimal started=$SECONDS tool case library
    local without=(-DE4R_{PERFETTO,HUNT,RECORD,BPF,PYTHON})
    cmake -S . -B "$dir" -DE4R_WERROR=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
        "${without[@]/%/=OFF}" >/dev/null
    cmake --build "$dir" -j2
    tool=$dir/tools/e4replay
    for library in protobuf nlopt tracefs traceevent bpf; do
        ! ldd "$tool" | grep -q "lib$library" || { echo "builds.sh: minimal needs lib$library" >&2 && return 1; }
    done
    test/support/unpack_captures.sh "$tool" "$dir/captures" >/dev/null
    refuses "without protobuf" "$tool" replay traces/churn-64k.e4c --perfetto "$dir/trace"
    refuses "without NLopt" "$tool" hunt --base legacy --with cr1.5 -o "$dir/worst.e4c"
    refuses "without libtracefs" "$tool" record --clean
    refuses "without libtraceevent" "$tool" trace info test/trace/data/dat-7-two-cpus.dat
    for case in test/golden/*/cmd; do
        case=$(dirname "$case")
        # These cases run hunt and record, which are missing here.
        [[ $case == */*hunt || $case == */errors-capture ]] ||
            test/golden/run_case.sh "$PWD/$case" "$tool" "$dir/captures"
    done
    installs build/builds/minimal
    echo "builds.sh: minimal passed in $((SECONDS - started)) s"
}

# Builds the wheel. Its tests also use the programs of the release preset.
build_wheel() {
    local started=$SECONDS
    cmake --preset release >/dev/null
    cmake --build --preset release
    ctest --test-dir build/release -C wheel -R '^python\.wheel$' --output-on-failure --no-tests=error
    echo "builds.sh: wheel passed in $((SECONDS - started)) s"
}

# follow PAGE DIR: follows the instructions of the page in the clone in DIR.
follow() {
    (cd "$2/e4replay" && . test/cached.sh && test/follow_guide.py "docs/$1" .) >"$2/$1.log" 2>&1 || {
        tail -50 "$2/$1.log" >&2
        echo "builds.sh: docs/$1 does not lead to its end: $2/$1.log" >&2
        return 1
    }
}

# shows PAGE DIR PATTERN...: checks the output of the page's commands.
shows() {
    local pattern
    for pattern in "${@:3}"; do
        grep -qE "$pattern" "$2/$1.log" || {
            tail -100 "$2/$1.log" >&2
            echo "builds.sh: docs/$1 does not show '$pattern': $2/$1.log" >&2
            return 1
        }
    done
}

# Adds a policy and an event as the pages describe, with the files, rows and commands in the pages. Checks that the
# commands print what the pages promise.
build_guide() {
    local dir=build/builds/guide started=$SECONDS
    rm -rf "$dir"
    mkdir -p "$dir"
    git clone -q . "$dir/e4replay"
    follow adding-a-built-in-policy.md "$dir"
    shows adding-a-built-in-policy.md "$dir" '^ +start .* legacy +roomy ' '^  roomy +' '\[  PASSED  \] [0-9]+ tests'
    follow adding-an-event.md "$dir"
    shows adding-an-event.md "$dir" '\[       OK \] E4t\.KindsKeepTheirTags' '\[  PASSED  \] [0-9]+ tests'
    echo "builds.sh: guide passed in $((SECONDS - started)) s"
}

# Builds one file without shared libraries for each of two architectures.
build_portable() {
    local started=$SECONDS
    test/portable.sh
    echo "builds.sh: portable passed in $((SECONDS - started)) s"
}

# build NAME: makes this build and tests it.
build() {
    if declare -F "build_$1" >/dev/null; then
        "build_$1"
        return
    fi
    local dir=build/builds/$1 started=$SECONDS
    local choice=(-E "$slow")
    [ -z "${E4R_BUILD_TESTS:-}" ] || choice=(-R "$E4R_BUILD_TESTS")
    ("configure_$1") # in a subshell, because it exports flags
    cmake --build "$dir" -j2
    ctest --test-dir "$dir" -j2 --output-on-failure --no-tests=error "${choice[@]}" |
        grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed |^ *Start +[0-9]+: '
    installs "$dir"
    echo "builds.sh: $1 passed in $((SECONDS - started)) s"
}

chosen=()
while [ $# -gt 0 ]; do
    case $1 in
    --all) chosen=("${all[@]}") ;;
    --list) printf '%s\n' "${all[@]}" && exit ;;
    --turn)
        [ $# -gt 1 ] || usage
        chosen=("${all[$(test/turn.sh build "$2" ${#all[@]})]}")
        shift
        ;;
    -*) usage ;;
    *)
        [[ " ${all[*]} " == *" $1 "* ]] || {
            echo "builds.sh: no build '$1': there are ${all[*]}" >&2
            exit 2
        }
        chosen+=("$1")
        ;;
    esac
    shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${all[@]}")
tools/setup.sh test package
. test/cached.sh
for name in "${chosen[@]}"; do build "$name"; done
