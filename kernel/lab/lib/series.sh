# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Reads kernel/series/BASE.series. Sourced after common.sh.
#
# A series file has headings ("# topic") and lines "TOPIC/NNNN-name.patch", in the order of application. The patches are
# git format-patch mails under kernel/patches/. A SERIES is a topic, several topics separated by commas, or "all". It is
# for 6.1 unless it begins with the number of another base: "6.12-trace-inputs". A topic with the heading "# topic, on
# OTHER,OTHER: ..." also applies the topics OTHER. A topic with the heading "# topic, not in all: ..." is applied only
# if it is named.

patches_dir=${E4R_PATCHES:-$kernel_dir/patches}

# open_series SERIES: sets $base_tree, $series_file and $topics_wanted.
open_series() {
    local number
    base_tree=$(tree_of base)
    series_file=${E4R_SERIES:-$kernel_dir/series/6.1.series}
    topics_wanted=$(topics_of "$1")
    number=${1%"$topics_wanted"}
    if [ -n "$number" ]; then
        base_tree=$(tree_of "${number%-}")
        series_file=$kernel_dir/series/${number%-}.series
    fi
    [ -e "$series_file" ] || die "no $series_file"
    [ -d "$base_tree" ] || die "no $base_tree: run lab fetch"
    local topic
    for topic in ${topics_wanted//,/ }; do
        if [ "$topic" != all ] && ! grep -q "^$topic/" "$series_file"; then
            die "no topic '$topic' in $series_file: there are $(topics | paste -sd' ')"
        fi
    done
}

# Prints the paths of the patches below kernel/patches, in order.
patches() {
    awk -v wanted=",$topics_wanted," '
        NR == FNR {
            if ($1 != "#" || $2 !~ /,$/) next
            if ($3 == "on" && index(wanted, "," $2)) wanted = wanted $4 ","
            if ($3 " " $4 " " $5 == "not in all") by_name[$2]
            next
        }
        /^[ \t]*(#|$)/ { next }
        { topic = $1; sub(/\/.*/, "", topic) }
        index(wanted, "," topic ",") || (index(wanted, ",all,") && !(topic "," in by_name)) { print $1 }
    ' <(tr -d : <"$series_file") "$series_file"
}

topics() {
    grep -v '^[[:space:]]*#' "$series_file" | sed -n 's|/.*||p' | sort -u
}
