#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the queries of a Grafana dashboard use metrics and labels that `e4replay watch` has, and that
docs/watching.md names these metrics.

  dashboard.py DASHBOARD WATCH_DOCUMENT PAGE       checks
  dashboard.py DASHBOARD WATCH_DOCUMENT --rules    prints the queries as rules for `promtool check rules`
"""
import json
import re
import subprocess
import sys

SAMPLE = re.compile(r'^(\w+)\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\} (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """Returns the labels of the samples by their names."""
    out = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, _ = SAMPLE.match(line).groups()
        out.setdefault(name, []).append(dict(LABEL.findall(labels)))
    return out


def queries(dashboard):
    for panel in dashboard["panels"]:
        assert panel["title"] and panel["description"] and panel["targets"], panel["id"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target["legendFormat"]


def check_query(known, query, legend):
    """Returns the faults of the query."""
    faults = []
    there = set()
    for name, matchers in re.findall(r"\b(e4replay_\w+)(?:\{([^}]*)\})?", query):
        if name not in known:
            faults.append(f"there is no {name}")
            continue
        for label, value in LABEL.findall(matchers):
            values = {labels.get(label) for labels in known[name]}
            if values == {None}:
                faults.append(f"{name} has no label {label}")
            elif not value.startswith("$") and value not in values:
                faults.append(f'{name} has no {label}="{value}"')
        there |= set().union(*(labels.keys() for labels in known[name]))
    for group in re.findall(r"\bby \(([^)]*)\)", query):
        faults += [f"no label {label}" for label in group.split(", ") if label not in there]
        there = set(group.split(", "))
    if "histogram_quantile" in query:
        there.discard("le")
    faults += [f"no label {label} for the legend" for label in re.findall(r"\{\{(\w+)\}\}", legend)
               if label not in there]
    if not re.search(r"\be4replay_", query):
        faults.append("asks for nothing")
    # A query must use a counter with a range of time, except in a ratio of two counters.
    for name in re.findall(r"\b(e4replay_\w+_total)\{[^}]*\}(?!\[)", query):
        if query.count("_total{") != 2 or " / " not in query:
            faults.append(f"{name} without a range")
    return faults


def check_page(text, page):
    """Returns the metrics that only the text or only the page has."""
    section = page.split("\n## Metrics\n")[1].split("\n## ")[0]
    documented = set()
    for line in re.findall(r"^\| (`.*?) \|", section, re.M):
        documented |= set(re.findall(r"`(\w+)`", line))
    there = set(re.findall(r"^# TYPE e4replay_(\w+) ", text, re.M))
    return sorted(f"only in the output: {name}" for name in there - documented) + \
        sorted(f"only in the page: {name}" for name in documented - there)


def overlaps(panels):
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        if cells & taken or at["x"] + at["w"] > 24:
            yield panel["title"]
        taken |= cells


def main(path, document, *options):
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    text = subprocess.run([document, "prometheus"], capture_output=True, text=True, check=True).stdout
    known = samples(text)
    assert len(known) > 20, sorted(known)
    if options == ("--rules",):
        rules = []
        for i, (_, query, _) in enumerate(queries(dashboard)):
            plain = re.sub(r"\$__\w+", "5m", query)
            rules.append({"record": f"e4replay:query_{i}", "expr": plain})
        print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
        return 0
    faults = [f"{title}: {fault}" for title, query, legend in queries(dashboard)
              for fault in check_query(known, query, legend)]
    faults += [f"{title}: lies over another panel" for title in overlaps(dashboard["panels"])]
    with open(options[0], encoding="utf-8") as file:
        faults += check_page(text, file.read())
    ids = [panel["id"] for panel in dashboard["panels"]]
    faults += ["two panels have one id"] if len(set(ids)) != len(ids) else []
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            faults += check_query(known, f'{name}{{{label}="$x"}}', "")
    # Test that the check itself finds faults.
    assert check_query(known, 'rate(e4replay_none_total{a="b"}[5m])', "")
    assert check_query(known, 'rate(e4replay_requests_total{reason="$x"}[5m])', "")
    assert check_query(known, 'rate(e4replay_requests_total{allocator="nobody"}[5m])', "")
    assert check_query(known, "sum by (reason) (rate(e4replay_requests_total[5m]))", "")
    assert check_query(known, "sum by (allocator) (rate(e4replay_requests_total[5m]))", "{{device}}")
    assert check_query(known, 'e4replay_requests_total{allocator="recorded"}', "")
    for fault in faults:
        print(fault)
    print(f"{len(list(queries(dashboard)))} queries of {len(ids)} panels")
    return 1 if faults or len(ids) < 10 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
