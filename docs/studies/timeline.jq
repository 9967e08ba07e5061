# SPDX-License-Identifier: GPL-2.0-or-later
# Draws the picture of timeline.md from the output of timeline.sh --all: each figure against that of 4.18.
#   docs/studies/timeline.sh --all | jq -L docs/studies -Rrs -f docs/studies/timeline.jq >timeline.svg
include "bars";

# The kernels in the picture, oldest first.
def shown: {"el8": "4.18", "linux-5.10.215": "5.10", "linux-5.15.202": "5.15", "legacy": "6.1", "linux-6.5": "6.5",
            "linux-6.6.128": "6.6.128", "linux-6.8": "6.8", "linux-6.14": "6.12.0", "linux-6.12.77": "6.12.77",
            "linux-7.3": "7.3"};

(split("\n")[1:] | map(select(. != "") | split("\t"))) as $all |
[{panel: "groups considered per request", column: 5}, {panel: "extents scanned per request", column: 6},
 {panel: "extents per file", column: 7}, {panel: "free extents", column: 8}] |
map(. as $figure | $all[] | . as $row | select(shown[$row[1]]) |
    ($all[] | select(.[0] == $row[0] and .[1] == "el8") | .[$figure.column] | tonumber) as $first |
    {panel: $figure.panel, group: shown[$row[1]], series: $row[0],
     value: (($row[$figure.column] | tonumber) / $first),
     title: "\($row[0]), \($row[1]): \($row[$figure.column])"}) |
bars("times the figure of 4.18")
