# SPDX-License-Identifier: GPL-2.0-or-later
# Bars from 0, in panels with separate scales: `bars(what)`, where `what` is the caption, draws an array of
#   {panel, group, series, value, title}
# as SVG, with a panel for each `panel`, side by side in it the groups, and a bar for each series.

def to(n): . * pow(10; n) | round / pow(10; n);
def px: to(1) | tostring;
def text(x; y; anchor; what):
  "<text x=\"\(x | px)\" y=\"\(y | px)\" text-anchor=\"\(anchor)\" font-size=\"11\">\(what)</text>";
# The end of an axis from 0 that includes the value: a number that is round and can be halved.
def round_end:
  if . <= 0 then 1 else . as $v | pow(10; $v | log10 | floor) as $unit |
    first((1, 2, 3, 4, 5, 6, 8, 10) | . * $unit | select(. >= $v * 0.9999)) end;
# The distinct values in order of appearance.
def ordered(f): reduce .[] as $one ([]; ($one | f) as $name | if index([$name]) then . else . + [$name] end);
def colours: ["#8a8f98", "#56b4e9", "#0072b2", "#e69f00", "#009e73", "#cc79a7"];

def head($width; $height):
  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\($width)\" height=\"\($height)\" viewBox=\"0 0 \($width) \($height)\" font-family=\"sans-serif\">",
  "<style>text{fill:#333}.grid{stroke:#bbb;stroke-width:.6}.ground{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}.ground{fill:#14171b}}</style>",
  "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>";

# One panel at (x, y), 190 high.
def panel($name; $what; $groups; $series; $x; $y; $wide; $step):
  map(select(.panel == $name)) as $here | ($here | map(.value) | max | round_end) as $top |
  text($x + 40; $y + 10; "start"; "\($name): \($what)"),
  ([0, $top / 2, $top][] | . as $v | ($y + 160 - 138 * $v / $top) as $line |
   "<line class=\"grid\" x1=\"\($x + 40)\" x2=\"\($x + $wide - 8)\" y1=\"\($line | px)\" y2=\"\($line | px)\"/>",
   text($x + 36; $line + 4; "end"; $v | to(1))),
  ($here[] | .group as $g | .series as $s |
   ($x + 46 + ($groups | index($g)) * $step + ($series | index($s)) * 16) as $left |
   (138 * .value / $top) as $bar |
   "<rect x=\"\($left)\" y=\"\($y + 160 - $bar | px)\" width=\"14\" height=\"\($bar | px)\" fill=\"\(colours[$series | index($s)])\"><title>\(.title)</title></rect>"),
  ($groups | to_entries[] |
   text($x + 46 + .key * $step + ($step - 22) / 2; $y + 175; "middle"; .value));

def bars($what):
  . as $all | ordered(.panel) as $panels | ordered(.group) as $groups | ordered(.series) as $series |
  ($series | length * 16 + 22) as $step | ($groups | length * $step + 56) as $wide |
  ($panels | (length + 1) / 2 | floor) as $across |
  head($across * $wide + 20; 424),
  ($series | to_entries[] |
   "<rect x=\"\(14 + .key * 130)\" y=\"10\" width=\"11\" height=\"11\" fill=\"\(colours[.key])\"/>",
   text(30 + .key * 130; 20; "start"; .value)),
  ($panels | to_entries[] | .key as $at | .value as $name |
   $all | panel($name; $what; $groups; $series; $at % $across * $wide; ($at / $across | floor) * 190 + 36; $wide; $step)),
  "</svg>";
