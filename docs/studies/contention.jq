# SPDX-License-Identifier: GPL-2.0-or-later
# What contention.sh prints (jq -L docs/studies -rs -f), as a table; or drawn, with --arg svg 1: for each
# capture the requests per second of each policy, over those of one writer.
include "bars";

def gain($all): . as $one | .rate / ($all | map(select(.capture == $one.capture and .policy == $one.policy))[0].rate);

. as $all |
if $ARGS.named.svg
then map(select(.writers > 1) | {panel: .capture, group: "\(.writers) writers", series: .policy, value: gain($all),
     title: "\(.policy), \(.writers) writers: x\(gain($all) | to(2)), waiting \(.waiting | to(1)) %"}) |
     bars("requests per second, over those of one writer")
else
  "| capture | writers | policy | 1,000 requests/s | over one writer's | waiting, % | groups left, per request | extents per file |",
  "|---|---|---|---|---|---|---|---|",
  (.[] | "| \(.capture) | \(.writers) | \(.policy) | \(.rate / 1000 | round) | \(gain($all) | to(1)) | \(.waiting | to(1)) | \(.evasions / .requests | to(2)) | \(.extents | to(2)) |")
end
