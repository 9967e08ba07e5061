#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes real documents of every kind. Writes them to OUT/KIND/NAME.json.
#   documents.sh E4REPLAY CAPTURES TRACES OUT WATCH_DOCUMENT
set -euo pipefail
e4replay=$1 captures=$2 traces=$3 out=$4 watch_document=$5
tune2fs_lazy=$(dirname "$e4replay")/tune2fs-lazy
cd "$captures"

# Writes a document. Permits status 3, with which verify reports a disagreement.
write() {
    local kind=$1 name=$2 status=0
    shift 2
    mkdir -p "$out/$kind"
    "$@" >"$out/$kind/$name.json" 2>"$out/stderr" || status=$?
    [ $status = 0 ] || [ $status = 3 ] || {
        cat "$out/stderr" >&2
        echo "documents.sh: $kind/$name: status $status: $*" >&2
        exit 1
    }
}

mkdir -p "$out"
write replay default "$e4replay" replay churn-4k.img churn-4k.trace.zst --json -
write replay cr1.5 "$e4replay" replay churn-4k.img churn-4k.trace.zst -p cr1.5,linear --json -
write replay causes "$e4replay" replay "$traces/posting-2000.e4c" -p legacy,linear,linux-7.3 --explain --json -
write replay writers "$e4replay" replay churn-4k.img churn-4k.trace.zst -p legacy,linux-7.3 \
    --writers 1,4 --cpus 2 --json -
write replay think "$e4replay" replay churn-4k.img churn-4k.trace.zst -p legacy --writers 1,4 --think 80us --json -
write replay linux-7.3 "$e4replay" replay delalloc-4k.img delalloc-4k-7.3.e4t.zst --json -
write replay linux-6.5 "$e4replay" replay delalloc-4k.img delalloc-4k-6.12.e4t.zst \
    -p linux-6.5,linux-6.12,rotalloc --json -
write replay differs "$e4replay" replay churn-4k.img linux618-churn-4k.trace.zst --generation 6.1 \
    --force --json -
zstd -dcq churn-4k.trace.zst | grep -v -e ext4_mballoc_alloc -e ext4_mballoc_prealloc >"$out/open.trace"
write replay no-decision "$e4replay" replay churn-4k.img "$out/open.trace" --force --json -
cp churn-4k.trace.zst churn-4k.tunables "$out/" # without mb_stats
write replay no-stats "$e4replay" replay churn-4k.img "$out/churn-4k.trace.zst" --json -
printf '[a]\nrw=write\nsize=4m\niodepth=2\n' >"$out/job.fio"
write replay workload "$e4replay" replay churn-4k.img --workload "$out/job.fio" -p legacy --json -
write replay workload-words "$e4replay" replay churn-4k.img --workload 'files=9 size=1M' --json -
write verify same "$e4replay" verify churn-4k.img churn-4k.trace.zst --json -
write verify free-run "$e4replay" verify churn-4k.img churn-4k.trace.zst --free-run --json -
write verify differs "$e4replay" verify churn-4k.img churn-4k.trace.zst -p linear --json -
write verify linux-6.18 "$e4replay" verify churn-4k.img linux618-churn-4k.trace.zst --json -
write verify no-stats "$e4replay" verify "$traces/churn-ext3-5.4.e4c" --json -
# Change a document so that it looks like the document of a kernel's code without mb_stats. Then only closing events
# show the searches (test/stats/mb_files_test.cc).
python3 - "$out" <<'END'
import json, pathlib, sys

def without(counts):
    of_all = ("reqs", "groups_scanned", "extents_scanned")
    return {key: {"hits": value["hits"]} if isinstance(value, dict) else value
            for key, value in counts.items() if isinstance(value, dict) or key in of_all}

for path in pathlib.Path(sys.argv[1], "replay/default.json"), pathlib.Path(sys.argv[1], "verify/same.json"):
    document = json.loads(path.read_text())
    for run in document["runs"]:
        run["mb_stats"] = without(run["mb_stats"])
        del run["groups_considered"]
    path.with_name("closing-events.json").write_text(json.dumps(document))
END
# Changes the tunables as if the mount had the option discard.
sed 's/ ext4 rw,/&discard,/' churn-4k.tunables >"$out/discard.tunables"
write replay discard "$e4replay" replay churn-4k.img churn-4k.trace.zst \
    --tunables "$out/discard.tunables" --json -
write verify discard "$e4replay" verify churn-4k.img churn-4k.trace.zst \
    --tunables "$out/discard.tunables" --json -
# The discards of a free-running replay differ from the kernel's. So only its document must name discards as not
# modelled.
for kind in replay verify; do
    python3 -c 'import json, sys; print(*json.load(sys.stdin)["not_modelled"])' <"$out/$kind/discard.json"
done | diff - <(printf 'discard\n\n')
write review plain "$e4replay" review --base legacy --with cr1.5 churn-4k.img:churn-4k.trace.zst --aged 0.5 \
    --size 64M --json -
hunt() {
    "$e4replay" hunt -o "$out/hunt.e4c" --no-progress --largest 64M --json - "$@"
}
write hunt plain hunt --base legacy --with linux-6.12 --trials 40 --least-requests 20 --shrink-trials 20
write hunt start "$e4replay" hunt --start churn-4k.img -o "$out/hunt.e4c" --no-progress --base legacy --with linux-6.12 \
    --trials 20 --least-requests 20 --shrink-trials 5 --json -
write hunt nothing hunt --base legacy --with legacy --set-with mb_cr1_5_max_trim_order=1 --trials 4
write freefrag plain "$e4replay" freefrag churn-4k.img --json -
write freefrag fstrim "$e4replay" freefrag churn-4k.img --fstrim 64K --json -
write map plain "$e4replay" map churn-4k.img --rows 4 --json -
write trace-info text "$e4replay" trace info churn-4k.trace.zst --json -
write trace-info e4t "$e4replay" trace info delalloc-4k-7.3.e4t.zst --json -
"$e4replay" trace convert churn-4k.trace.zst "$out/whole.e4c" --image churn-4k.img >"$out/stdout"
write info whole "$e4replay" info "$out/whole.e4c" --json -
write replay capture "$e4replay" replay "$out/whole.e4c" --json -
head -c 200000 "$out/whole.e4c" >"$out/cut.e4c"
write info cut "$e4replay" info "$out/cut.e4c" --json -
# `record` made these captures on a file system that was already mounted.
for name in full writeback-8; do
    write info "recorded-$name" "$e4replay" info "$traces/$name.e4c" --json -
    write trace-info "recorded-$name" "$e4replay" trace info "$traces/$name.e4c" --json -
    write verify "recorded-$name" "$e4replay" verify "$traces/$name.e4c" --json -
done
write watch figures "$watch_document"
write watch none "$watch_document" none
write shrinker plain "$e4replay" shrinker "$traces/es-delayed.e4t.zst" --json -
write shrinker verify "$e4replay" shrinker "$traces/es-delayed.e4t.zst" --verify --json -
write age plain "$e4replay" age 64M -o "$out/aged.img" --until 'turnover 1x' --no-progress --json -
write tune2fs-lazy-status plain "$tune2fs_lazy" status --json churn-4k.img
"$e4replay" sweep churn-4k.img:churn-4k.trace.zst -p legacy,cr1.5 --set mb_max_to_scan=50,200 \
    -o "$out/swept" --no-progress >"$out/stdout"
mkdir -p "$out/sweep" "$out/sweep-summary" "$out/sweep-point"
mv "$out/swept/sweep.json" "$out/sweep/plain.json"
mv "$out/swept/summary.json" "$out/sweep-summary/plain.json"
number=0
while read -r line; do
    number=$((number + 1))
    printf '%s\n' "$line" >"$out/sweep-point/$number.json"
done <"$out/swept/points.jsonl"
