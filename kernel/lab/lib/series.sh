# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
# Reads kernel/series/6.1.series. Sourced after common.sh.
#
# The series file has headings ("# topic") and lines "TOPIC/NNNN-name.patch", in the order in which
# they apply; the patches are git format-patch mails under kernel/patches/. A SERIES is a topic,
# several with commas between them, or "all".

series_file=${E4R_SERIES:-$kernel_dir/series/6.1.series}
patches_dir=${E4R_PATCHES:-$kernel_dir/patches}

# patches_of SERIES: paths below kernel/patches, in order.
patches_of() {
    [ -e "$series_file" ] || die "no $series_file"
    local topic
    for topic in ${1//,/ }; do
        if [ "$topic" != all ] && ! grep -q "^$topic/" "$series_file"; then
            die "no topic '$topic' in $series_file: there are $(topics | paste -sd' ')"
        fi
    done
    awk -v wanted=",$1," '
        /^[ \t]*(#|$)/ { next }
        { topic = $1; sub(/\/.*/, "", topic) }
        wanted == ",all," || index(wanted, "," topic ",") { print $1 }' "$series_file"
}

topics() {
    grep -v '^[[:space:]]*#' "$series_file" | sed -n 's|/.*||p' | sort -u
}
