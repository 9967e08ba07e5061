# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a table from the output of clones.sh (jq -L docs/studies -rs -f), or with --arg svg 1 a picture: for
# each way to make the image, a bar for the data that each clone no longer shares with it.
include "bars";

def mib: . / 1048576 | if . >= 100 then to(0) elif . >= 1 then to(1) else to(3) end;
def esc: gsub("&"; "&amp;") | gsub("<"; "&lt;");
def words: {
  "stock": "mke2fs on a device, mounted",
  "stock-zeroes": "... disk with WRITE ZEROES",
  "full": "mke2fs -E lazy_itable_init=0",
  "file": "mke2fs on a sparse file",
  "finish": "tune2fs-lazy finish",
  "probe": "tune2fs-lazy finish --probe",
  "old-probe": "... over old data",
  "set": "tune2fs-lazy set noinit_itable",
  "noinit": "mounted noinit_itable",
  "series-probe": "series, lazyinit_probe = 1",
  "old-series-probe": "... over old data",
  "series-paused": "series, lazyinit_state = paused"}[.] // .;
def each_of(f): map(f | mib | tostring) | unique_by(.) | join(", ");

def table:
  . as $all |
  "| | image, MiB | added by tune2fs-lazy | tables marked in the image | when unmounted | writes of the guest, MiB | of its own, MiB | of that without data |",
  "|---|---|---|---|---|---|---|---|",
  (ordered(.row)[] as $row | $all | map(select(.row == $row)) |
   "| \($row | words) | \(.[0].image_bytes | mib) | \(.[0].late_bytes | mib) | \(.[0].marked_before) of \(.[0].groups) | \(map(.marked_after) | unique | join(", ")) | \(each_of(.written_bytes)) | \(each_of(.own_bytes)) | \(each_of(.unwritten_bytes)) |");

def drawing:
  . as $all | ordered(.row) as $rows | ($all | map(.own_bytes) | max) as $top |
  (map(.clone) | max) as $clones | ($clones * 12 + 12) as $high | 230 as $left | 400 as $wide |
  ($rows | length * $high + 44) as $tall |
  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\($left + $wide + 100)\" height=\"\($tall)\" viewBox=\"0 0 \($left + $wide + 100) \($tall)\" font-family=\"sans-serif\" font-size=\"12\">",
  "<style>text{fill:#333}.bar{fill:#0072b2}.axis{stroke:#bbb;stroke-width:.6}.ground{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.bar{fill:#56b4e9}.axis{stroke:#555}.ground{fill:#14171b}}</style>",
  "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>",
  "<text x=\"\($left)\" y=\"20\">MiB that a clone no longer shares with its image (pale: reserved, without data)</text>",
  "<line class=\"axis\" x1=\"\($left)\" x2=\"\($left)\" y1=\"28\" y2=\"\($tall - 6)\"/>",
  ($rows | to_entries[] | (.key * $high + 34) as $y | .value as $row |
   "<text x=\"\($left - 8)\" y=\"\($y + $clones * 6 + 4)\" text-anchor=\"end\">\($row | words | esc)</text>",
   ($all | map(select(.row == $row)) | to_entries[] | (.value.own_bytes * $wide / $top | to(1)) as $bar |
    "<rect class=\"bar\" fill-opacity=\"\(if .value.unwritten_bytes * 2 > .value.own_bytes then 0.4 else 1 end)\" x=\"\($left)\" y=\"\($y + .key * 12)\" width=\"\([$bar, 1] | max)\" height=\"10\"><title>\($row | words | esc), clone \(.value.clone): \(.value.own_bytes | mib) MiB</title></rect>",
    "<text x=\"\($left + $bar + 6)\" y=\"\($y + .key * 12 + 9)\" font-size=\"10\">clone \(.value.clone): \(.value.own_bytes | mib)</text>")),
  "</svg>";

if $ARGS.named.svg then drawing else table end
