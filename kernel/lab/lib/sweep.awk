# SPDX-License-Identifier: GPL-2.0-only
# The table and the drawing of sweep.sh. Reads "VALUE TURN FIGURE NUMBER" lines.
#   -v wanted="F G ..."   which figures (default: all)
#   -v svg=FILE           draws a panel for each of them: median, and a bar from least to most
function sort(list, n,   i, j, t) {
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && list[j] < list[j - 1]; --j) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
}
function number(x) { return x == int(x) ? sprintf("%d", x) : x < 10 ? sprintf("%.2f", x) : sprintf("%.1f", x) }

# The least, median and most of a figure at a value.
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

function draw(   panel, f, v, x, y, path, width, height, step) {
    width = 360; height = 200
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\">\n",
        2 * width, int((wants + 1) / 2) * height >svg
    printf "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n" >svg
    step = (width - 90) / (values > 1 ? values - 1 : 1)
    for (panel = 0; panel < wants; ++panel) {
        f = want[panel + 1]
        printf "<g transform=\"translate(%d,%d)\">\n", (panel % 2) * width, int(panel / 2) * height >svg
        text(60, 20, "start", 13, f)
        printf "<path d=\"M50 30V%dH%d\" fill=\"none\" stroke=\"black\"/>\n", height - 30, width - 10 >svg
        text(46, 36, "end", 10, number(top[f]))
        text(46, height - 27, "end", 10, "0")
        path = ""
        for (v = 1; v <= values; ++v) {
            x = 65 + (v - 1) * step
            y = place(mid[value[v], f], f, height)
            printf "<path d=\"M%.1f %.1fV%.1f\" stroke=\"gray\" stroke-width=\"4\"/>\n", x,
                place(low[value[v], f], f, height), place(high[value[v], f], f, height) >svg
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x, y >svg
            path = path (v == 1 ? "M" : "L") sprintf("%.1f %.1f", x, y)
            text(x, height - 15, "middle", 10, value[v])
        }
        printf "<path d=\"%s\" fill=\"none\" stroke=\"black\"/>\n</g>\n", path >svg
    }
    print "</svg>" >svg
}
function place(x, f, height) { return height - 30 - (top[f] > 0 ? x / top[f] : 0) * (height - 65) }

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
