# SPDX-License-Identifier: GPL-2.0-or-later
# Draws the picture of stripe.md from the output of stripe.sh: groups considered per request over groups, both
# logarithmic.
#   docs/studies/stripe.sh | jq -L docs/studies -Rrs -f docs/studies/stripe.jq >stripe.svg
include "bars";

def across($groups): 60 + ($groups / 32 | log10) * 170;
def up($value): 210 - (($value | log10) + 2) * 35;
# Overlapping lines have alternating dashes.
def line($stripe; $i; $points):
  "<polyline fill=\"none\" stroke=\"\(colours[$i % 6])\" stroke-width=\"2.5\" stroke-dasharray=\"\(if $stripe == "0" then "5 10" else "none" end)\" stroke-dashoffset=\"\(5 * $i)\" points=\"\($points)\"/>";
def names: {"legacy": "6.1", "cr1.5": "6.1 with the series", "linux-6.5": "6.5", "linux-6.12": "6.12", "linux-7.3": "7.3"};

(split("\n")[1:] | map(select(. != "") | split("\t")) |
 map({groups: (.[0] | tonumber), policy: .[1], stripe: .[2], value: (.[4] | tonumber)})) as $points |
head(640; 250),
(range(-2; 4) | . as $decade | "<line class=\"grid\" x1=\"60\" x2=\"380\" y1=\"\(up(pow(10; $decade)) | px)\" y2=\"\(up(pow(10; $decade)) | px)\"/>",
 text(54; up(pow(10; $decade)) + 4; "end"; pow(10; $decade))),
([$points[].groups] | unique[] | text(across(.); 228; "middle"; .)),
text(220; 245; "middle"; "groups, log scale"),
 text(10; 20; "start"; "groups considered per request, log scale"),
($points | group_by([.stripe, .policy]) | sort_by(.[0].stripe == "0") | to_entries[] | .key as $i | .value | sort_by(.groups) |
 line(.[0].stripe; $i; map("\(across(.groups) | px),\(up(.value) | px)") | join(" ")),
 line(.[0].stripe; $i; "395,\(36.5 + 18 * $i) 425,\(36.5 + 18 * $i)"),
 text(431; 41 + 18 * $i; "start"; "\(names[.[0].policy]), stripe \(.[0].stripe)")),
"</svg>"
