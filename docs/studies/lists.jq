# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a table from the output of lists.sh (jq -L docs/studies -rs -f), or with --arg svg 1 a picture: for each
# capture the extents of a file, a bar for each way to look for groups.
include "bars";

def way: if .lists == 0 then "no lists" else "lists, \(.walk) walked" end;

def table:
  "| capture | policy | way | groups considered | extents scanned | groups read | extents per file | seek per file, MiB |",
  "|---|---|---|---|---|---|---|---|",
  (.[] | "| \(.capture) | \(.policy) | \(way) | \(.considered) | \(.scanned) | \(.read) | \(.extents | to(2)) | \(.seek_mib | to(1)) |");

if $ARGS.named.svg
then map({panel: .capture, group: .policy, series: way, value: .extents,
          title: "\(.policy), \(way): \(.extents | to(2)) extents per file, \(.steps | to(2)) steps per request"}) | bars("extents of a file")
else table end
