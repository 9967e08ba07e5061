# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables ($show "tables") or the picture from the runs of forcealign.sh. $w selects the runs.
include "bars";

def mean: add / length;
def wanted:
    map(select(.set == $w.set and (.profile | IN($w.profiles[])) and (.seed | IN($w.seeds[]))));
def is_aligned: .policy | startswith("forcealign");
# "70.1 (40.2 to 90)": the mean of all runs and the extremes.
def spread(f): map(f) | "\(mean | to(1)) (\(min | to(1)) to \(max | to(1)))";
def share($i): spread(.aligned[$i].percent);

def name: sub("^forcealign:"; "") | gsub(","; ", ");
def row: "| " + (map(tostring) | join(" | ")) + " |";
def table($head): ($head | row, (map("---") | row));

# The runs of one turnover and policy; none unless all of them exist and none ran out of space.
def of($t; $p):
    map(select(.turnover == $t and .policy == $p and (.full | not))) |
    if length == ($w.profiles | length) * ($w.seeds | length) then . else [] end;
def shares: [share(0), share(1), share(2), (map(.aligned[2].pieces) | min)];

def stock:
    . as $all |
    table(["turnovers", "policy", "free extent, KiB", "16 KiB, %", "64 KiB, %", "256 KiB, %",
           "fewest of 256 KiB"]),
    ($w.turnovers[] as $t | $w.policies[] as $p | $all | of($t; $p) |
     select(length > 0 and (.[0] | is_aligned | not)) |
     [$t, $p, (map(.average) | mean | to(0))] + shares | row);

def profiles:
    . as $all | ($w.policies | map(select(. == "linux-7.3"))[]) as $p |
    table(["profile", "turnovers", "16 KiB, %", "64 KiB, %", "256 KiB, %", "fewest of 256 KiB"]),
    ($w.profiles[] as $name | $w.turnovers[] as $t | $all | of($t; $p) |
     map(select(.profile == $name)) | select(length > 0) | [$name, $t] + shares | row);

def forced:
    . as $all |
    table(["turnovers", "policy", "in use, %", "16 KiB, %", "64 KiB, %", "256 KiB, %",
           "requests refused, %", "bytes not written, %", "extents of a file"]),
    ($w.turnovers[] as $t | $w.policies[] as $p | $all | of($t; $p) |
     select(length > 0 and (.[0] | is_aligned or .policy == "linux-7.3")) |
     [$t, ($p | name), (map(100 * .utilisation) | mean | to(1)), share(0), share(1), share(2)] +
     (if .[0] | is_aligned
      then [spread(if .requests == 0 then 0 else 100 * .refused / .requests end), spread(100 * .lost)]
      else ["", ""] end) + [map(.extents) | mean | to(2)] | row);

def tables: wanted | stock, "", profiles, "", forced;

# At most six policies, because there are six colours.
def picture:
    wanted as $all |
    ($w.policies | map(select(startswith("forcealign:") and test("extsize_every") | not))
     | map(select(IN("rotalloc", "linux-6.5") | not)) | .[:6]) as $shown |
    [range(3) as $i | $w.turnovers[] as $t | $shown[] as $p | $all | of($t; $p) | select(length > 0) |
     {panel: "\(.[0].aligned[$i].size_kb) KiB", group: "\($t)x", series: ($p | name),
      value: (map(.aligned[$i].percent) | mean),
      title: "\($p | name), \($t) turnovers: \(map(.aligned[$i].percent) | mean | to(1)) %"}] |
    bars("% of free space in aligned pieces, by turnovers");

if $show == "tables" then tables else picture end
