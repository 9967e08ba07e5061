#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Records the captures of traces/corpus anew: real programs on ext4 file systems of this machine, on loop
# devices, by `e4replay record`. Names, times and inode numbers are made anonymous. What the programs do is
# seeded where they can be; the order of writeback is the kernel's.
#   tools/record-corpus.sh [-o DIR] [--manifest | NAME...]
#                   DIR: default traces/corpus; NAME: default all, --list names them; --manifest: records
#                   nothing, and writes DIR/MANIFEST anew
# Needs root, tracefs, loop devices, 4 GB of disk in TMPDIR (/tmp), and build/release/tools/e4replay
# (E4REPLAY=FILE: another one). DIR/MANIFEST then says what each is.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/.."
e4replay=${E4REPLAY:-$PWD/build/release/tools/e4replay}
out=traces/corpus

# NAME, size and words of mke2fs, options of mount, age, the function that writes. Age: which share of the
# blocks is in use / how many times the file system's size was written, by the profile agrawal; -: fresh.
table='
mail-4k              1G    -b:4096                                -           -      mail
mail-1k-aged         1G    -b:1024                                -           0.6/2  mail
postmark-4k-aged     1G    -b:4096                                -           0.7/2  postmark_run
pgbench-4k           1G    -b:4096                                -           -      pgbench_run
pgbench-4k-aged      2G    -b:4096                                -           0.6/2  pgbench_run
sqlite-4k-aged       512M  -b:4096                                -           0.5/2  sqlite_run
sqlite-1k            512M  -b:1024                                -           -      sqlite_run
rocksdb-4k           1G    -b:4096                                -           -      rocksdb_run
rocksdb-bigalloc     1G    -O:bigalloc:-C:65536                   -           -      rocksdb_run
git-4k               1G    -b:4096                                -           -      git_run
git-1k-aged          1G    -b:1024                                -           0.5/2  git_run
kbuild-4k            2G    -b:4096                                -           -      kbuild
dpkg-4k-aged         1G    -b:4096                                -           0.5/2  dpkg_run
dpkg-bigalloc        1G    -O:bigalloc:-C:16384                   -           -      dpkg_run
rsync-4k             1G    -b:4096                                -           -      rsync_run
rsync-stripe         1G    -b:4096:-E:stride=16,stripe_width=64   -           -      rsync_run
vm-images-4k         2G    -b:4096                                -           -      vm_images
random-fill-4k       1G    -b:4096                                nodelalloc  -      random_fill
random-fill-1k-aged  1G    -b:1024                                -           0.4/2  random_fill
fsmark-4k-writers    1G    -b:4096                                -           -      fsmark_run
dbench-4k-writers    1G    -b:4096                                -           -      dbench_run
near-full-4k         512M  -b:4096                                -           -      near_full
'

die() {
    echo "record-corpus.sh: $*" >&2
    exit 1
}

usage() {
    sed -n 's/^#   tools/usage: tools/p' "$0" >&2
    exit 2
}

# ---- the programs; each is called in an empty directory of the file system

# Deliveries into maildirs: written to tmp, synced, renamed; the oldest expire.
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

# Commits, clones, checkouts and a repack of a repository that is made here.
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

# The tools of a kernel, unpacked and built by two jobs.
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

# Packages that are installed here, packed and unpacked again, upgraded and removed.
dpkg_run() {
    local package
    for package in bash coreutils dpkg git gcc-12 perl-base python3.11-minimal tar; do
        dpkg -L "$package" 2>/dev/null | while read -r file; do [ ! -f "$file" ] || echo "$file"; done |
            tar -cf "$package.tar" -T - 2>/dev/null || true
        mkdir -p "root/$package"
        tar -xf "$package.tar" -C "root/$package"
    done
    # An upgrade writes each file beside the old one and renames it.
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

# Disks of guests: sparse ones that fill up at random, copies of them, and discards by their guests.
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

# Pieces of several large files that arrive in no order.
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

fsmark_run() {
    mkdir files
    fs_mark -d files -s 20000 -n 500 -t 8 -L 2 -k -S 1 >/dev/null 2>&1 || die "fs_mark failed"
    rm -f fs_log.txt
}

dbench_run() {
    dbench -D . -t 6 8 -c /usr/share/dbench/client.txt >/dev/null 2>&1 || dbench -D . -t 6 8 >/dev/null
}

# Files of many sizes until there is no room, a third removed, and again.
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

# ---- recording

work=
mounted=
cleanup() {
    [ -z "$mounted" ] || umount "$mounted" 2>/dev/null || umount -l "$mounted" 2>/dev/null || true
    [ -z "$work" ] || rm -rf "$work"
}

# record NAME SIZE MKE2FS MOUNT AGED FUNCTION
record() {
    local name=$1 image=$work/disk.img mke2fs=() options=loop
    IFS=: read -ra mke2fs <<<"$3"
    [ "$4" = - ] || options+=,$4
    rm -f "$image" "$work"/*.e4c
    truncate -s "$2" "$image"
    mke2fs -q -F -t ext4 "${mke2fs[@]}" "$image" || die "$name: mke2fs failed"
    if [ "$5" != - ]; then
        mv "$image" "$work/fresh.img"
        "$e4replay" age "$work/fresh.img" -o "$image" \
            --until "utilisation ${5%/*}, turnover ${5#*/}x" --no-progress >/dev/null || die "$name: the file system cannot be aged"
    fi
    mkdir -p "$work/mnt"
    mount -o "$options" "$image" "$work/mnt" || die "$name: cannot mount"
    mounted=$work/mnt
    mkdir "$work/mnt/run"
    sync -f "$work/mnt"
    echo "record-corpus.sh: $name"
    "$e4replay" record "$work/mnt" -o "$work/raw.e4c" --settle --no-progress -- \
        bash "$self" --inside "$work/mnt/run" "$6" 2>"$work/log" || {
        cat "$work/log" >&2
        die "$name: cannot be recorded, or its program failed"
    }
    umount "$work/mnt" || die "$name: cannot unmount"
    mounted=
    "$e4replay" trace convert "$work/raw.e4c" "$work/$name.e4c" --anonymize >/dev/null
    mv "$work/$name.e4c" "$out/$name.e4c"
}

# What each program is, by the function that runs it.
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
fsmark_run fsmark
dbench_run dbench
near_full python3'

# The row of a capture: what the table says, and how far the model of the kernel follows it.
manifest_row() {
    local answer package
    package=$(awk -v of="$6" '$1 == of { print $2 }' <<<"$packages")
    answer=$("$e4replay" verify "$out/$1.e4c" --no-progress --json - || [ $? = 3 ])
    jq -r --arg row "capture $1 $2 $3 $4 $5 ${6%_run} $package-$(dpkg-query -Wf '${Version}' "$package")" \
        '"\($row) \(.trace.kernel | sub(" "; "_"; "g")) \(.runs[0].agreement.requests) \(.runs[0].agreement.identical)"' \
        <<<"$answer"
}

# The comments of MANIFEST stay; rows and checksums are made anew, of the captures that are there.
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
    grep -v '^$' <<<"$table"
}

# These programs end before a machine would write back what they have written. So it is written back every
# two seconds, which also makes a second writer.
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
while [ -n "$recording" ] && read -r name size mke2fs mount aged program; do
    [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
    record "$name" "$size" "$mke2fs" "$mount" "$aged" "$program" </dev/null
done < <(rows)
write_manifest
