# SPDX-License-Identifier: GPL-2.0-or-later
# Draws the picture of ageing.md from its tables: extents of a file after ten turnovers.
#   jq -L docs/studies -Rrs -f docs/studies/ageing.jq docs/studies/ageing.md >ageing.svg
include "bars";

reduce (split("\n")[]) as $line ({rows: []};
  if $line | startswith("## ") then .group = (if $line | test("delayed") then "delayed" else "block by block" end)
  elif $line | test("^\\| [a-z-]+ \\| (legacy|cr1|linear|linux)") then
    .group as $group |
    .rows += [$line | split("|") | map(ltrimstr(" ") | rtrimstr(" ")) |
              {panel: .[1], group: $group, series: .[2], value: (.[3] | tonumber),
               title: "\(.[2]), \($group): \(.[3]) extents of a file"}]
  else . end)
| .rows | bars("extents of a file")
