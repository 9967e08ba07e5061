# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the tables ($show "tables") or the picture from the runs of rotalloc.sh. $w selects the runs; its first
# policy is the reference.
include "bars";

def mean: add / length;
def geometric: map(log) | mean | exp;
def times:
    (. * 100 | round) as $n | ($n % 100 | tostring) as $rest |
    "\($n / 100 | floor)." + (if $n % 100 < 10 then "0" else "" end) + $rest;

# All runs with one utilisation and turnover, once for each selected policy.
def cells:
    map(select(.set == $w.set and (.profile | IN($w.profiles[]))
               and (.seed | tostring | IN($w.seeds[])))) as $all |
    $w.turnovers[] as $t | $w.utilisations[] as $u | $w.policies[] as $p |
    {t: $t, u: $u, p: $p, lives: ($all | map(select(.turnover == $t and .utilisation == $u)))};
def of($policy): .lives | map(select(.policy == $policy)) | sort_by([.profile, .seed]);

# The ratios to the first policy, run by run.
def ratios(f): [of(.p), of($w.policies[0])] | map(map(f)) | transpose | map(.[0] / .[1]);
def against(f):
    if .p == $w.policies[0] then "1"
    else ratios(f) |
        (geometric | times) + (if length > 1 then " (\(min | times) to \(max | times))" else "" end)
    end;
def sum(f): of(.p) | map(f) | add;
def average(f): of(.p) | map(f) | mean | to(1);

def name: if test(":") then .[index(":") + 1:] else . end;
def row: "| " + (map(tostring) | join(" | ")) + " |";
def table($head; f):
    (["in use", "turnovers", "policy"] + $head | row, (map("---") | row)),
    (cells | [.u, .t, (.p | name)] + f | row);
def tables:
    table(["extents of a file", "layout score, %", "average seek", "groups considered",
           "extents scanned"];
        [against(.extents), average(.score), against(.seek), against(.groups), against(.scanned)]),
    "",
    table(["free extents", "chunks of 1 MiB", "of 16 MiB", "of 128 MiB", "free in >= 1 MiB, %",
           "pieces freed", "freed in >= 1 MiB, %", "ever used, %"];
        [against(.free), sum(.chunks[0]), sum(.chunks[1]), sum(.chunks[2]), average(.in[1]),
         against(.runs), average(.freed[1]), average(.ever)]);

# The picture. Colours that stand out on light and on dark; text and lines follow the reader's choice.
def colours: ["#7f8c8d", "#a8a060", "#d9772b", "#3b8fd0"];
def text($x; $y; $anchor; $class):
    "<text x=\"\($x)\" y=\"\($y)\" text-anchor=\"\($anchor)\" class=\"\($class)\">\(.)</text>";
def bar($x; $y; $wide; $high; $fill; $clear):
    "<rect x=\"\($x)\" y=\"\($y | to(1))\" width=\"\($wide)\" height=\"\($high | to(1))\"" +
    " fill=\"\($fill)\" fill-opacity=\"\($clear | to(2))\"/>";

# A panel at $x, $y below a title of two lines: for each utilisation, a bar of each policy. f has the parts of a
# bar, from the bottom up; a bar of $top fills the panel.
def panel($x; $above; $title; $under; $turnover; $top; f; caption):
    [cells | select(.t == $turnover)] as $bars |
    (88 / ($w.policies | length) | floor) as $step |
    ($title | text($x; $above; "start"; "h")), ($under | text($x; $above + 15; "start"; "n")),
    ($above + 18) as $y |
    "<path d=\"M\($x) \($y + 130)h300\" class=\"l\"/>",
    ($bars | to_entries[] | (.key % ($w.policies | length)) as $p |
     (.key / ($w.policies | length) | floor) as $u |
     ($x + 6 + $u * 104 + $p * $step) as $left | .value |
     (f | to_entries) as $parts |
     ($parts | map(.value) | add) as $sum |
     ($parts[] | .key as $k | .value as $part |
      ($parts[:$k + 1] | map(.value) | add) as $upto |
      bar($left; $y + 130 - 105 * $upto / $top; $step - 3; 105 * $part / $top; colours[$p];
          (1 - 0.3 * $k))),
     (caption | text($left + ($step - 3) / 2; $y + 126 - 105 * $sum / $top | to(1); "middle"; "s")),
     (if $p == 0 then "\(.u) in use" | text($left + 44; $y + 144; "middle"; "n") else empty end));

# Percent of free space by length of extents: from 16 MiB, from 1 MiB and from 64 KiB on.
def lengths:
    [of(.p)[] | .histogram | [16384, 1024, 64] as $l |
     [range(3) as $i | map(select(.from_kb >= $l[$i] and ($i == 0 or .from_kb < $l[$i - 1])) | .percent)
      | add // 0]] | transpose | map(mean);
def ratio(f): if .p == $w.policies[0] then 1 else ratios(f) | geometric end;
def highest(f): [cells | f] | max;

def picture:
    ($w.turnovers[-1]) as $last | ($w.turnovers[0]) as $first |
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 420\" font-family=\"sans-serif\">",
    "<style>text{fill:#222}.ground{fill:#fff}.l{stroke:#222;fill:none}.h{font-size:13px}.n{font-size:11px}.s{font-size:9px}",
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.l{stroke:#ddd}.ground{fill:#14171b}}</style>",
    "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>",
    ($w.policies | to_entries[] | (20 + .key * 150) as $x |
     bar($x; 8; 12; 12; colours[.key]; 1), (.value | name | text($x + 18; 18; "start"; "n"))),
    panel(20; 50; "Extents of a file"; "times \($w.policies[0]), \($last) turnovers"; $last;
          highest(ratio(.extents)); [ratio(.extents)]; ratio(.extents) | times),
    panel(360; 50; "Average seek in a file"; "times \($w.policies[0]), \($last) turnovers"; $last;
          highest(ratio(.seek)); [ratio(.seek)]; ratio(.seek) | times),
    panel(20; 238; "Free space in long extents";
          "% in &gt;= 16 MiB (solid), 1 MiB, 64 KiB; \($last) turnovers"; $last; 100; lengths;
          lengths | add | round | tostring),
    panel(360; 238; "Part of the device ever used"; "%, \($first) turnovers"; $first; 100; [average(.ever)];
          average(.ever) | tostring),
    "</svg>";

if $show == "tables" then tables else picture end
