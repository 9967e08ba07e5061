# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a table from the output of contention.sh (jq -L docs/studies -rs -f), or with --arg svg 1 a picture: for
# each capture the speed of many writers relative to one, and the extents of a file.
include "bars";

def gain($all): . as $one | .rate / ($all | map(select(.capture == $one.capture and .policy == $one.policy))[0].rate);

. as $all |
if $ARGS.named.svg
then map(select(.policy != "spread-by-inode")) as $some |
     ($some | map(. + {panel: "\(.capture), times one writer\u0027s rate", value: gain($all)}) +
              map(. + {panel: "\(.capture), extents of a file", value: .extents})) |
     map(. + {group: (if .writers == 1 then "1 writer" else "\(.writers) writers" end), series: .policy,
              title: "\(.policy), \(.writers) writer(s): \(.value | to(2)), waiting \(.waiting | to(1)) %"}) |
     bars("64 KiB each")
else
  "| capture | writers | policy | 1,000 requests/s | over one writer's | waiting, % | groups left, per request | extents per file |",
  "|---|---|---|---|---|---|---|---|",
  (.[] | "| \(.capture) | \(.writers) | \(.policy) | \(.rate / 1000 | round) | \(gain($all) | to(1)) | \(.waiting | to(1)) | \(.evasions / .requests | to(2)) | \(.extents | to(2)) |")
end
