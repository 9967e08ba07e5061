# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a table from the output of trim-order.sh (jq -L docs/studies -rs -f), or with --arg svg 1 a picture: for
# each size of file a panel of extents per file over one of steps per request, a line for each age of the file
# system.
include "bars";

def colours: ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];
def dashes: ["none", "7 4", "2 4", "12 3 2 3"];
def text(x; y; anchor; size; what):
  "<text x=\"\(x | px)\" y=\"\(y | px)\" text-anchor=\"\(anchor)\" font-size=\"\(size)\">\(what)</text>";

# Every point as an object; the order of legacy, which has none, is null.
def points:
  split("\n") | map(select(. != "") | split("\t")) | .[0] as $names |
  .[1:] | map([$names, .] | transpose | map({(.[0]): (.[1] | tonumber? // .)}) | add |
              if .order == "-" then .order = null else . end);

# Draws the figure of each point as a panel at (x, y); `top` is the largest value.
def panel($all; figure; $x; $y; $title; $top):
  150 as $height | 205 as $width | ($all | map(.order) | max) as $last |
  def across(o): $x + 40 + o / $last * ($width - 52);
  def up(v): $y + $height - v / $top * ($height - 12);
  text($x + 40; $y - 4; "start"; 11; $title),
  (range(0; 3) | . / 2 * $top | . as $v |
   "<line x1=\"\($x + 40 | px)\" x2=\"\($x + $width | px)\" y1=\"\(up($v) | px)\" y2=\"\(up($v) | px)\" class=\"grid\"/>",
   text($x + 35; up($v) + 4; "end"; 10; $v | to(1))),
  (range(0; $last + 1) | text(across(.); $y + $height + 14; "middle"; 10; .)),
  ($all | group_by(.turnover) | to_entries[] | .key as $i | .value |
   ([.[] | select(.order == null) | figure][0] as $stock |
    "<line x1=\"\(across(0) | px)\" x2=\"\(across($last) | px)\" y1=\"\(up($stock) | px)\" y2=\"\(up($stock) | px)\" stroke=\"\(colours[$i])\" stroke-width=\"1\" opacity=\"0.5\"/>"),
   "<polyline fill=\"none\" stroke=\"\(colours[$i])\" stroke-width=\"2.5\" stroke-dasharray=\"\(dashes[$i])\" points=\"\([.[] | select(.order != null) | "\(across(.order) | px),\(up(figure) | px)"] | join(" "))\"/>");

def drawing:
  . as $all | (reduce .[].file as $f ([]; if index([$f]) then . else . + [$f] end)) as $files |
  ([($files | length * 220), (group_by(.turnover) | length * 240)] | max + 10) as $width |
  (($width - 10) / ($files | length)) as $apart |
  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \($width) 470\" width=\"\($width)\" height=\"470\" font-family=\"sans-serif\">",
  "<style>text{fill:#333}.grid{stroke:#bbb;stroke-width:.6}rect{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}rect{fill:#14171b}}</style>",
  "<rect width=\"100%\" height=\"100%\"/>",
  (group_by(.turnover) | to_entries[] | .key as $i | .value[0] |
   "<line x1=\"\(12 + 240 * $i)\" x2=\"\(40 + 240 * $i)\" y1=\"16\" y2=\"16\" stroke=\"\(colours[$i])\" stroke-width=\"2.5\" stroke-dasharray=\"\(dashes[$i])\"/>",
   text(46 + 240 * $i; 20; "start"; 11; "\(.turnover)x written, free extents \(.free_kb) KB")),
  ($files | to_entries[] | .key as $column | .value as $file | ($all | map(select(.file == $file))) as $here |
   panel($here; .extents; $apart * $column; 56; "\($file) files: extents per file"; ($here | map(.extents) | max | round_end)),
   panel($here; .steps; $apart * $column; 266; "\($file) files: steps per request"; ($here | map(.steps) | max | round_end))),
  text($width / 2; 460; "middle"; 11; "across: mb_cr1_5_max_trim_order; thin lines: 6.1 without CR1.5"),
  "</svg>";

def table:
  "| written, turnovers | free extents, KB | files of | policy | trim order | steps per request | extents per file | free extents at the end | whole MiB free |",
  "|---|---|---|---|---|---|---|---|---|",
  (.[] | "| \(.turnover) | \(.free_kb) | \(.file) | \(.policy) | \(.order // "-") | \(.steps | to(1)) | \(.extents | to(2)) | \(.free_extents) | \(.whole_mib) |");

points | if $ARGS.named.svg then drawing else table end
