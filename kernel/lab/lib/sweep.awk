# SPDX-License-Identifier: GPL-2.0-only
# Prints the table of sweep.sh and makes its drawing. Reads "VALUE TURN FIGURE NUMBER" lines.
#   -v wanted="F G ..."   which figures (default: all)
#   -v svg=FILE           draws a panel for each figure: the median, and a bar from minimum to maximum
#   -v across=NAME        label of the values below each panel
function sort(list, n,   i, j, t) {
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && list[j] < list[j - 1]; --j) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
}
function number(x) { return x == int(x) ? sprintf("%d", x) : x < 10 ? sprintf("%.2f", x) : sprintf("%.1f", x) }

# Returns the minimum, median and maximum of the figure f for the value v.
function summary(v, f,   i, list, n) {
    n = runs[v, f]
    for (i = 1; i <= n; ++i) list[i] = all[v, f, i]
    sort(list, n)
    low[v, f] = list[1]; high[v, f] = list[n]
    mid[v, f] = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    if (list[n] > top[f]) top[f] = list[n]
}

function text(x, y, anchor, size, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor,
        size, words >svg
}

# Returns a figure's name in words. By default, underscores become spaces.
function words_of(f,   words) {
    words["mib_per_s"] = "MiB/s"
    words["commits"] = "COMMITs"
    words["write_max_ms"] = "longest write(), ms"
    words["stalls_100ms"] = "write()s over 100 ms"
    words["fsync_ms"] = "fsync at the end, ms"
    words["peak_dirty_mib"] = "most dirty + writeback, MiB"
    if (f in words) return words[f]
    gsub(/_/, " ", f)
    return f
}

# Returns the end of an axis that begins at 0: a round number that is at least x.
function round_end(x,   unit, i, list, n) {
    if (x <= 0) return 1
    unit = 1
    while (unit > x) unit /= 10
    while (unit * 10 <= x) unit *= 10
    n = split("1 2 3 4 5 6 8 10", list, " ")
    for (i = 1; i < n && list[i] * unit < x * 0.9999; ++i) continue
    return list[i] * unit
}

function draw(   panel, f, v, x, y, path, width, height, step) {
    width = 360; height = 216; foot = 46
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\">\n",
        2 * width, int((wants + 1) / 2) * height >svg
    printf "<style>text,.dot{fill:#333}.axis{stroke:#333;fill:none}.range{stroke:#999;stroke-width:4}" \
        ".ground{fill:#fff}@media(prefers-color-scheme:dark){text,.dot{fill:#ddd}.axis{stroke:#ddd}" \
        ".range{stroke:#777}.ground{fill:#14171b}}</style>\n" >svg
    printf "<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n" >svg
    step = (width - 90) / (values > 1 ? values - 1 : 1)
    for (panel = 0; panel < wants; ++panel) {
        f = want[panel + 1]
        printf "<g transform=\"translate(%d,%d)\">\n", (panel % 2) * width, int(panel / 2) * height >svg
        top[f] = round_end(top[f])
        text(50, 18, "start", 13, words_of(f))
        printf "<path class=\"axis\" d=\"M50 30V%dH%d\"/>\n", height - foot, width - 10 >svg
        text(46, place(top[f], f, height) + 4, "end", 10, number(top[f]))
        text(46, place(top[f] / 2, f, height) + 4, "end", 10, number(top[f] / 2))
        text(46, height - foot + 3, "end", 10, "0")
        if (across != "") text(50 + (width - 60) / 2, height - foot + 32, "middle", 11, across)
        path = ""
        for (v = 1; v <= values; ++v) {
            x = 65 + (v - 1) * step
            y = place(mid[value[v], f], f, height)
            printf "<path class=\"range\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
                place(low[value[v], f], f, height), place(high[value[v], f], f, height) >svg
            printf "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x, y >svg
            path = path (v == 1 ? "M" : "L") sprintf("%.1f %.1f", x, y)
            text(x, height - foot + 15, "middle", 10, value[v])
        }
        printf "<path class=\"axis\" d=\"%s\"/>\n</g>\n", path >svg
    }
    print "</svg>" >svg
}
function place(x, f, height) { return height - foot - (top[f] > 0 ? x / top[f] : 0) * (height - foot - 35) }

{
    if (!($1 in seen)) { seen[$1] = 1; value[++values] = $1 }
    if (!($3 in known)) { known[$3] = 1; name[++names] = $3 }
    all[$1, $3, ++runs[$1, $3]] = $4 + 0
}
END {
    wants = split(wanted, want, " ")
    if (!wants) for (i = 1; i <= names; ++i) want[++wants] = name[i]
    printf "|"
    for (i = 1; i <= wants; ++i) {
        if (!(want[i] in known)) { print "sweep: no figure " want[i] >"/dev/stderr"; exit 1 }
        printf " | %s", want[i]
    }
    printf " |\n|---"
    for (i = 1; i <= wants; ++i) printf "|---"
    print "|"
    for (v = 1; v <= values; ++v) {
        printf "| %s", value[v]
        for (i = 1; i <= wants; ++i) {
            summary(value[v], want[i])
            printf " | %s (%s-%s)", number(mid[value[v], want[i]]), number(low[value[v], want[i]]),
                number(high[value[v], want[i]])
        }
        print " |"
    }
    if (svg != "") draw()
}
