#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that Prometheus, promtool and node_exporter accept the metrics of `e4replay watch`, and that each query of the
# dashboard has a result.
#   prometheus.sh WATCH_DOCUMENT DASHBOARD
# Exit status 77 without Debian's packages prometheus and prometheus-node-exporter (tools/setup.sh metrics).
set -euo pipefail
document=$(realpath "$1") dashboard=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
for program in promtool prometheus prometheus-node-exporter; do
    command -v $program >/dev/null || { echo "prometheus.sh: no $program here" >&2 && exit 77; }
done
work=$(mktemp -d)
servers=()
cleanup() {
    kill "${servers[@]}" 2>/dev/null || true
    wait "${servers[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 143' TERM HUP
cd "$work"
passed=0
ok() { passed=$((passed + 1)) && echo "ok: $*"; }
bad() { echo "prometheus.sh: $*" >&2 && exit 1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# get URL FILE: waits until the server answers, and stores the answer.
get() {
    python3 - "$1" "$2" <<'PYTHON' || bad "no answer from $1: $(cat ./*.err)"
import sys, time, urllib.request
for _ in range(600):
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=60) as answer, open(sys.argv[2], "wb") as out:
            out.write(answer.read())
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
sys.exit(1)
PYTHON
}

"$document" prometheus >a.txt
"$document" openmetrics >a.om
[ "$(grep -vc '^#' a.txt)" -gt 60 ] || bad "only $(grep -vc '^#' a.txt) samples"
promtool check metrics <a.txt >lint 2>&1 || bad "promtool: $(cat lint)"
[ ! -s lint ] || bad "promtool: $(cat lint)"
ok "promtool has no complaint"

# Two watches each write a file, with the same metrics.
mkdir prom
cp a.txt prom/a.prom
sed 's/device="sda1"/device="sdb1"/' a.txt >prom/b.prom
port=$(free_port)
prometheus-node-exporter --collector.disable-defaults --collector.textfile \
    --collector.textfile.directory=prom --web.listen-address="127.0.0.1:$port" 2>node.err &
servers+=($!)
get "http://127.0.0.1:$port/metrics" node.txt
grep -qx 'node_textfile_scrape_error 0' node.txt || bad "$(cat node.err)"
for device in sda1 sdb1; do
    [ "$(grep -c "^e4replay_.*device=\"$device\"" node.txt)" = "$(grep -vc '^#' a.txt)" ] ||
        bad "node_exporter shows other samples of $device: $(grep -c "device=\"$device\"" node.txt)"
done
sort -u <(grep '^# [HT].* e4replay_' a.txt) >types
sort -u <(grep '^# [HT].* e4replay_' node.txt) | diff types - || bad "node_exporter shows other types"
ok "node_exporter shows the files of two watches"

# promtool does not accept OpenMetrics, so the file is not in that format.
! promtool check metrics <a.om >lint 2>&1 || bad "promtool accepts OpenMetrics now: see docs/watching.md"
ok "promtool does not read OpenMetrics"

# Prometheus itself can parse OpenMetrics, but the samples need times. Add times, and run the queries over ten minutes.
now=$(date +%s)
python3 - "$now" a.om >timed.om <<'PYTHON'
import sys
now = int(sys.argv[1])
families = [[]]
for line in open(sys.argv[2], encoding="utf-8").read().splitlines():
    if line.startswith("# HELP"):
        families.append([])
    if line != "# EOF":
        families[-1].append(line)
for family in families:
    print(*(line for line in family if line.startswith("#")), sep="\n", end="\n" if family else "")
    for line in family:
        if not line.startswith("#"):
            for at in range(now - 600, now + 1, 60):
                print(line, at)
print("# EOF")
PYTHON
sed -i '/^$/d' timed.om
promtool tsdb create-blocks-from openmetrics timed.om data >blocks 2>&1 || bad "$(cat blocks)"
ok "Prometheus reads OpenMetrics"

python3 "$here/dashboard.py" "$dashboard" "$document" --rules >rules.json
promtool check rules rules.json >lint 2>&1 || bad "$(cat lint)"
ok "the queries of the dashboard are correct"

echo '{}' >prometheus.yml
port=$(free_port)
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --storage.tsdb.retention.time=10y \
    --web.listen-address="127.0.0.1:$port" 2>prometheus.err &
servers+=($!)
get "http://127.0.0.1:$port/-/ready" ready
python3 - "$port" "$now" <<'PYTHON' || bad "a query finds nothing"
import json, sys, urllib.error, urllib.parse, urllib.request
port, now = sys.argv[1:]
mountpoint = json.dumps(next(iter(json.load(urllib.request.urlopen(
    f"http://127.0.0.1:{port}/api/v1/label/mountpoint/values?start={int(now) - 600}"))["data"])),
    ensure_ascii=False)
assert "\\\\b\\n{" in mountpoint, mountpoint
for rule in json.load(open("rules.json"))["groups"][0]["rules"]:
    query = rule["expr"].replace('"$mountpoint"', mountpoint)
    asked = urllib.parse.urlencode({"query": query, "time": now})
    try:
        answer = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{asked}"))
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{query}: {refusal.read().decode()}")
    if not answer["data"]["result"]:
        sys.exit(f"nothing: {query}")
PYTHON
ok "each query of the dashboard finds something"
echo "prometheus.sh: $passed checks passed with Prometheus $(promtool --version 2>&1 | cut -d ' ' -f 3 | head -n 1)"
