# SPDX-License-Identifier: GPL-2.0-or-later
# Draws the picture of full.md from the output of full.sh.
#   docs/studies/full.sh | jq -L docs/studies -Rrs -f docs/studies/full.jq >full.svg
include "bars";

# The kernels in the picture, oldest first.
def shown: {"linux-5.4.274": "5.4", "linux-5.15.202": "5.15", "legacy": "6.1", "linux-6.8": "6.8",
            "linux-6.12.77": "6.12.77", "linux-7.3": "7.3"};

(split("\n")[1:] | map(select(. != "") | split("\t")) | map(select(.[3] == "-" and shown[.[4]]))) as $all |
[{name: "thousand groups considered", column: 6, per: 1000}, {name: "extents of files", column: 9, per: 1}] |
map(. as $figure | $all[] | . as $row |
    {panel: "\($row[0]), \($figure.name)", group: "\($row[1]) %", series: shown[$row[4]],
     value: (($row[$figure.column] | tonumber) / $figure.per),
     title: "\($row[0]), \($row[1]) %, \($row[4]): \($row[$figure.column])"}) |
bars("for each GiB")
