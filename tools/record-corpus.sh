#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Records the captures of traces/corpus again: real programs on ext4 file systems of this machine, on loop devices, with
# `e4replay record`. Names, times and inode numbers are anonymized. Programs get a fixed random seed where that is
# possible. The order of writeback still differs from run to run.
#   tools/record-corpus.sh [-o DIR] [--manifest | NAME...]
#                   DIR: default traces/corpus; NAME: default all, --list names them; --manifest: records
#                   nothing, and rewrites DIR/MANIFEST
# traces/corpus/TABLE lists the recordings. Needs root, tracefs, loop devices, 4 GB of disk in TMPDIR (/tmp),
# and build/release/tools/e4replay (E4REPLAY=FILE: another program). Debian has no fsstress: FSSTRESS=FILE names
# the program of xfstests, and FSSTRESS_VERSION=TEXT its version for the manifest. Captures of guests need
# kernels of the lab (kernel/lab/lab build). DIR/MANIFEST describes each capture.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
e4replay=${E4REPLAY:-$PWD/build/release/tools/e4replay}
out=traces/corpus

table=traces/corpus/TABLE

die() {
    echo "record-corpus.sh: $*" >&2
    exit 1
}

usage() {
    sed -n 's/^#   tools/usage: tools/p' "$0" >&2
    exit 2
}

# ---- the programs; each runs in an empty directory of the file system

# Deliveries into maildirs: each mail is written to tmp, synced and renamed, and the oldest mails are removed.
mail() {
    python3 - <<'PY'
import os, random
draw = random.Random(1)
boxes, number = [], 0
for box in range(20):
    for part in ("tmp", "new"):
        os.makedirs(f"box{box}/{part}")
    boxes.append([])
for delivery in range(6000):
    box = draw.randrange(len(boxes))
    size = int(draw.lognormvariate(9, 1.3))
    name = f"{number}"
    number += 1
    with open(f"box{box}/tmp/{name}", "wb") as file:
        file.write(b"m" * min(size, 4 << 20))
        file.flush()
        if delivery % 4 == 0:
            os.fsync(file.fileno())
    os.rename(f"box{box}/tmp/{name}", f"box{box}/new/{name}")
    boxes[box].append(name)
    if len(boxes[box]) > 100:
        for old in boxes[box][:40]:
            os.unlink(f"box{box}/new/{old}")
        del boxes[box][:40]
PY
}

postmark_run() {
    printf '%s\n' 'set seed 1' 'set size 500 60000' 'set number 4000' 'set transactions 30000' \
        'set subdirectories 20' 'set location .' run quit | postmark >/dev/null
}

pgbench_run() {
    local bin
    bin=$(echo /usr/lib/postgresql/*/bin)
    mkdir data
    chown -R postgres .
    setpriv --reuid=postgres --regid=postgres --clear-groups bash -ec '
        PATH=$1:$PATH
        initdb -D data >/dev/null
        pg_ctl -D data -w -o "-k $PWD -c listen_addresses= -c fsync=on" -l log start >/dev/null
        createdb -h "$PWD" bench
        pgbench -h "$PWD" -i -s 4 -q bench 2>/dev/null
        pgbench -h "$PWD" -c 2 -t 1500 --random-seed=1 bench >/dev/null 2>&1
        psql -h "$PWD" -q -c "vacuum full" bench
        pg_ctl -D data -w -m fast stop >/dev/null' _ "$bin"
}

sqlite_run() {
    local journal
    for journal in delete wal; do
        sqlite3 "$journal.db" >/dev/null <<SQL
pragma journal_mode=$journal;
create table t (id integer primary key, name text, body blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
insert into t select i, 'name ' || (i * 7919 % 40000), zeroblob(i * 31 % 900) from n;
create index by_name on t (name);
delete from t where id % 3 = 0;
update t set body = zeroblob(1500) where id % 7 = 1;
vacuum;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into t select 100000 + i, 'late', zeroblob(100) from n;
SQL
        for i in $(seq 60); do
            sqlite3 "$journal.db" "insert into t (name, body) values ('single $i', zeroblob(20000))"
        done
    done
}

rocksdb_run() {
    db_bench --db=db --benchmarks=fillrandom,overwrite,compact,deleterandom --num=400000 --value_size=400 \
        --seed=1 --threads=1 --write_buffer_size=2097152 --target_file_size_base=1048576 \
        --max_background_jobs=2 >/dev/null 2>&1
}

# Commits, clones, checkouts and a repack of a generated repository.
git_run() {
    export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
    git init -q work
    local part
    for part in linux asm-generic rdma sound drm; do
        [ ! -d "/usr/include/$part" ] || cp -r "/usr/include/$part" work/
        git -C work add -A
        git -C work commit -q --allow-empty -m "$part"
        find work -name '*.h' -newermt 1970-01-01 | sort | awk 'NR % 5 == 0' | xargs -r sed -i '1i // changed'
        git -C work commit -q -a --allow-empty -m "$part again"
    done
    git clone -q --no-local work clone
    git -C clone checkout -q HEAD~4
    git -C clone checkout -q -
    git -C clone gc -q --aggressive --prune=now
    rm -rf work
}

# Unpacks the tools of a kernel and builds them, with two parallel jobs.
kbuild() {
    local part wanted=()
    for part in tools scripts include arch/x86/include arch/x86/lib arch/x86/tools; do
        wanted+=("linux-source-6.1/$part/*")
    done
    tar -xf /usr/src/linux-source-6.1.tar.xz --strip-components=1 --wildcards "${wanted[@]}"
    make -s -j2 -C tools/lib/bpf
    make -s -j2 -C tools/objtool
    make -s -C tools/lib/bpf clean
}

# Repacks packages of this machine, and unpacks, upgrades and removes them.
dpkg_run() {
    local package
    for package in bash coreutils dpkg git gcc-12 perl-base python3.11-minimal tar; do
        dpkg -L "$package" 2>/dev/null | while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
            tar -cf "$package.tar" -T - 2>/dev/null || true
        mkdir -p "root/$package"
        tar -xf "$package.tar" -C "root/$package"
    done
    # An upgrade writes each file next to the old one and renames it.
    find root -type f | sort | while read -r file; do
        cp -p "$file" "$file.dpkg-new"
        mv "$file.dpkg-new" "$file"
    done
    sync -f .
    rm -rf root/git root/gcc-12 ./*.tar
}

rsync_run() {
    local tree trees=()
    for tree in /usr/share/{perl,i18n,zoneinfo} /usr/lib/python3.11; do
        [ ! -d "$tree" ] || trees+=("$tree")
    done
    rsync -a "${trees[@]}" copy/
    find copy -type f | sort | awk 'NR % 4 == 0' | xargs -r -d '\n' sh -c 'for f; do echo more >>"$f"; done' _
    rsync -a --delete copy/ mirror/
    find copy -type f | sort | awk 'NR % 9 == 0' | xargs -r -d '\n' rm -f
    rsync -a --delete --inplace copy/ mirror/
}

# Disks of virtual machines: sparse files that fill up at random, copies of these files, and discards by the guests.
vm_images() {
    local disk
    for disk in a b c; do
        qemu-img create -q -f raw "$disk.raw" 256M
        qemu-img create -q -f qcow2 "$disk.qcow2" 256M
    done
    python3 - <<'PY' >commands
import random
draw = random.Random(1)
for _ in range(2500):
    at, size = draw.randrange(0, 4000) * 65536, draw.choice((4096, 16384, 65536))
    print(f"discard {at} {size * 4}" if draw.random() < 0.2 else f"write -q {at} {size}")
PY
    for disk in a b c; do
        qemu-io -f raw -d unmap "$disk.raw" <commands >/dev/null
        qemu-io -f qcow2 -d unmap "$disk.qcow2" <commands >/dev/null
    done
    qemu-img convert -q -O raw a.qcow2 flat.raw
    fallocate -d b.raw
    rm -f c.raw c.qcow2
    qemu-img convert -q -O qcow2 b.raw packed.qcow2
}

# Writes the pieces of several large files in random order.
random_fill() {
    python3 - <<'PY'
import os, random
draw = random.Random(1)
pieces = [(name, piece) for name in range(6) for piece in range(300)]
draw.shuffle(pieces)
files = {name: os.open(f"part{name}", os.O_RDWR | os.O_CREAT, 0o644) for name in range(6)}
for name in (0, 1):
    os.posix_fallocate(files[name], 0, 300 * 65536)
for count, (name, piece) in enumerate(pieces):
    os.pwrite(files[name], b"p" * 65536, piece * 65536)
    if count % 40 == 0:
        os.fsync(files[name])
PY
}

fsstress_run() {
    "${FSSTRESS:?}" -d . -s 1 -n 2500 -p 2 -f dread=0 -f dwrite=2 -f afsync=0 -f chown=0 -f sync=0 >/dev/null
}

fsmark_run() {
    mkdir files
    fs_mark -d files -s 20000 -n 500 -t 8 -L 2 -k -S 1 >/dev/null 2>&1 || die "fs_mark failed"
    rm -f fs_log.txt
}

dbench_run() {
    dbench -D . -t 6 8 -c /usr/share/dbench/client.txt >/dev/null 2>&1 || dbench -D . -t 6 8 >/dev/null
}

# Writes files of many sizes until no space is left, removes a third of them, and repeats that.
near_full() {
    python3 - <<'PY'
import os, random
draw = random.Random(1)
number, kept = 0, []
for turn in range(4):
    while True:
        name = f"f{number}"
        number += 1
        try:
            with open(name, "wb") as file:
                for _ in range(draw.randrange(1, 60)):
                    file.write(b"x" * 16384)
            kept.append(name)
        except OSError:
            break
    draw.shuffle(kept)
    for name in kept[: len(kept) // 3]:
        os.unlink(name)
    del kept[: len(kept) // 3]
PY
}

# Ages bigalloc: writes files until four fifths are in use, removes half of them, and repeats that.
files() {
    python3 - <<'PY'
import os, random
draw = random.Random(2)
number, kept = 0, []
def in_use():
    of = os.statvfs(".")
    return 1 - of.f_bfree / of.f_blocks
for turn in range(4):
    while in_use() < 0.8:
        with open(f"f{number}", "wb") as file:
            file.write(b"x" * min(int(draw.lognormvariate(10.5, 2)), 16 << 20))
        kept.append(f"f{number}")
        number += 1
        if number % 50 == 0:
            os.sync()
    draw.shuffle(kept)
    while in_use() > 0.35:
        os.unlink(kept.pop())
        if len(kept) % 50 == 0:
            os.sync()
PY
}

# ---- recording

work=
mounted=
cleanup() {
    [ -z "$mounted" ] || umount "$mounted" 2>/dev/null || umount -l "$mounted" 2>/dev/null || true
    [ -z "$work" ] || rm -rf "$work"
}

# make_start NAME SIZE MKE2FS AGE: makes the file system in $work/disk.img.
make_start() {
    local image=$work/disk.img mke2fs=()
    IFS=: read -ra mke2fs <<<"$3"
    rm -f "$image"
    truncate -s "$2" "$image"
    mke2fs -q -F -t ext4 "${mke2fs[@]}" "$image" || die "$1: mke2fs failed"
    case $4 in
    -) ;;
    files)
        mount_start "$1" loop
        mkdir "$mounted/old"
        (cd "$mounted/old" && files) || die "$1: the file system cannot be aged"
        unmount_start "$1"
        ;;
    *)
        mv "$image" "$work/fresh.img"
        "$e4replay" age "$work/fresh.img" -o "$image" --until "utilisation ${4%/*}, turnover ${4#*/}x" \
            --no-progress >/dev/null || die "$1: the file system cannot be aged"
        ;;
    esac
}

mount_start() {
    mkdir -p "$work/mnt"
    mount -o "$2" "$work/disk.img" "$work/mnt" || die "$1: cannot mount"
    mounted=$work/mnt
}

unmount_start() {
    umount "$mounted" || die "$1: cannot unmount"
    mounted=
}

# record_here NAME MOUNT FUNCTION: records on the machine's own kernel, into $work/raw.e4c. If the name ends in -full,
# also records the sizes and the writers of files.
record_here() {
    local events=minimal
    [[ $1 != *-full ]] || events=full
    mount_start "$1" "loop$([ "$2" = - ] || echo ",$2")"
    mkdir "$mounted/run"
    sync -f "$mounted"
    "$e4replay" record "$mounted" -o "$work/raw.e4c" --events "$events" --settle --no-progress -- \
        bash "$self" --inside "$mounted/run" "$3" 2>"$work/log" || {
        cat "$work/log" >&2
        die "$1: cannot be recorded, or its program failed"
    }
    unmount_start "$1"
}

# record NAME SIZE MKE2FS MOUNT AGE KERNEL FUNCTION: records one capture of the table.
record() {
    if [ "$7" = fsstress_run ]; then
        [ -x "${FSSTRESS:-}" ] || die "$1: needs fsstress of xfstests: FSSTRESS=FILE"
    fi
    echo "record-corpus.sh: $1"
    rm -f "$work"/*.e4c
    make_start "$1" "$2" "$3" "$5"
    if [ "$6" = - ]; then
        record_here "$1" "$4" "$7"
    else
        E4REPLAY=$e4replay kernel/lab/lab corpus --kernel "$6" --mount "${4/#-/defaults}" -o "$work/raw.e4c" "$work/disk.img" \
            bash "$self" --inside RUN "$7" >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            die "$1: cannot be recorded in a guest"
        }
    fi
    "$e4replay" trace convert "$work/raw.e4c" "$work/$1.e4c" --anonymize >/dev/null
    mv "$work/$1.e4c" "$out/$1.e4c"
}

# The packages of each program, by the function that runs it.
packages='mail python3
postmark_run postmark
pgbench_run postgresql-15
sqlite_run sqlite3
rocksdb_run rocksdb-tools
git_run git
kbuild linux-source-6.1
dpkg_run dpkg
rsync_run rsync
vm_images qemu-utils
random_fill python3
fsstress_run xfstests
fsmark_run fsmark
dbench_run dbench
near_full python3'

# Prints the row of a capture in MANIFEST: the columns of the table, and how often the kernel's model agrees.
manifest_row() {
    local answer package version
    package=$(awk -v of="$7" '$1 == of { print $2 }' <<<"$packages")
    version=$(dpkg-query -Wf '${Version}' "$package" 2>/dev/null) || version=${FSSTRESS_VERSION:-unknown}
    answer=$("$e4replay" verify "$out/$1.e4c" --no-progress --json - || [ $? = 3 ])
    jq -r --arg row "capture $1 $2 $3 $4 $5 ${7%_run} $package-$version" \
        '"\($row) \(.trace.kernel | sub(" "; "_"; "g")) \(.runs[0].agreement.requests) \(.runs[0].agreement.identical)"' \
        <<<"$answer"
}

# Keeps the comments of MANIFEST; rewrites rows and checksums of the existing captures.
write_manifest() {
    local row name
    sed '/^#/!d' "$out/MANIFEST" >"$work/manifest" 2>/dev/null || true
    while read -r row; do
        name=${row%% *}
        # shellcheck disable=SC2086 # the fields of a row
        [ ! -e "$out/$name.e4c" ] || manifest_row $row >>"$work/manifest"
    done < <(rows)
    (cd "$out" && sha256sum ./*.e4c | sed 's,^\([0-9a-f]*\)  \./,sha256 \1 ,') >>"$work/manifest"
    cp "$work/manifest" "$out/MANIFEST"
}

rows() {
    grep -v '^#' "$table"
}

# These programs end before the kernel would write back their data. So a second process writes it back every two
# seconds, which also adds a second writer.
if [ "${1:-}" = --inside ]; then
    (cd / && while sleep 2; do sync -f "$2"; done) &
    syncing=$!
    trap 'kill $syncing 2>/dev/null && wait $syncing 2>/dev/null || true' EXIT
    cd "$2"
    "$3"
    cd /
    exit
fi
names=()
recording=yes
while [ $# -gt 0 ]; do
    case $1 in
    --list) rows | awk '{ print $1 }' && exit ;;
    --manifest) recording= ;;
    -o)
        [ $# -gt 1 ] || usage
        out=$2
        shift
        ;;
    -*) usage ;;
    *)
        rows | awk '{ print $1 }' | grep -qxF -- "$1" || die "no capture '$1': --list names them"
        names+=("$1")
        ;;
    esac
    shift
done
[ -z "$recording" ] || [ "$(id -u)" = 0 ] || die "needs root: it mounts file systems and records them"
[ -x "$e4replay" ] || die "$e4replay: is not there: build the preset release first, or set E4REPLAY"
tools/setup.sh corpus
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL runs as its own user
trap cleanup EXIT
trap 'exit 130' INT TERM
while [ -n "$recording" ] && read -r name size mke2fs mount aged kernel program; do
    [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
    record "$name" "$size" "$mke2fs" "$mount" "$aged" "$kernel" "$program" </dev/null
done < <(rows)
write_manifest
