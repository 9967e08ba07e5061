# SPDX-License-Identifier: GPL-2.0-or-later
# What lists.sh prints (jq -rs -f), as a table; or drawn, with --arg svg 1: for each capture the extents of a
# file, a bar for each way to look for groups.

def to(n): . * pow(10; n) | round / pow(10; n);
def px: to(1) | tostring;
def text(x; y; anchor; what): "<text x=\"\(x | px)\" y=\"\(y | px)\" text-anchor=\"\(anchor)\" font-size=\"11\">\(what)</text>";
def way: if .lists == 0 then "no lists" else "lists, \(.walk) walked" end;
def ordered(f): reduce .[] as $one ([]; ($one | f) as $name | if index([$name]) then . else . + [$name] end);
def colours: ["#8a8f98", "#56b4e9", "#0072b2", "#00436b"];

def table:
  "| capture | policy | way | groups considered | extents scanned | groups read | extents per file | seek per file, MiB |",
  "|---|---|---|---|---|---|---|---|",
  (.[] | "| \(.capture) | \(.policy) | \(way) | \(.considered) | \(.scanned) | \(.read) | \(.extents | to(2)) | \(.seek_mib | to(1)) |");

def drawing:
  . as $all | ordered(.capture) as $captures | ordered(.policy) as $policies | ordered(way) as $ways |
  ($ways | length * 16) as $group | ($policies | length * ($group + 22) + 56) as $panel |
  ($captures | (length + 1) / 2 | floor) as $across | 190 as $high |
  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\($across * $panel + 20)\" height=\"\(2 * $high + 44)\" viewBox=\"0 0 \($across * $panel + 20) \(2 * $high + 44)\" font-family=\"sans-serif\">",
  "<style>text{fill:#333}.grid{stroke:#bbb;stroke-width:.6}.ground{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}.ground{fill:#14171b}}</style>",
  "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>",
  ($ways | to_entries[] | "<rect x=\"\(14 + .key * 130)\" y=\"10\" width=\"11\" height=\"11\" fill=\"\(colours[.key])\"/>", text(30 + .key * 130; 20; "start"; .value)),
  ($captures | to_entries[] | .key as $at | .value as $capture | ($all | map(select(.capture == $capture))) as $here |
   ($at % $across * $panel) as $x | (($at / $across | floor) * $high + 36) as $y | ($here | map(.extents) | max) as $top |
   text($x + 40; $y + 10; "start"; $capture),
   ([0, $top / 2, $top][] | . as $v | ($y + 160 - 138 * $v / $top) as $line |
    "<line class=\"grid\" x1=\"\($x + 40)\" x2=\"\($x + $panel - 8)\" y1=\"\($line | px)\" y2=\"\($line | px)\"/>", text($x + 36; $line + 4; "end"; $v | to(1))),
   ($here[] | .policy as $p | way as $w | ($x + 46 + ($policies | index($p)) * ($group + 22) + ($ways | index($w)) * 16) as $left | (138 * .extents / $top) as $bar |
    "<rect x=\"\($left)\" y=\"\($y + 160 - $bar | px)\" width=\"14\" height=\"\($bar | px)\" fill=\"\(colours[$ways | index($w)])\"><title>\($p), \($w): \(.extents | to(2)) extents per file, \(.steps | to(2)) steps per request</title></rect>"),
   ($policies | to_entries[] | text($x + 46 + .key * ($group + 22) + $group / 2; $y + 175; "middle"; .value))),
  "</svg>";

if $ARGS.named.svg then drawing else table end
