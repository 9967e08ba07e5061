# SPDX-License-Identifier: GPL-2.0-only
# Prints the table of ab.sh. Reads "SIDE PAIR NAME VALUE" lines, where SIDE is base or patched.
#   -v A=TITLE -v B=TITLE    titles of the two kernels
#   -v limits="FIGURE=RATIO ..."    exit status 3 unless the median ratio of each FIGURE is below its RATIO
#
# Each pair of runs has a ratio patched/base. The table shows two averages of the ratios:
# - The median, with an interval that covers the true median with a probability of at least 95 %. The
#   interval goes from the k-th ratio to the k-th last of the n sorted ratios, with the largest
#   possible k. It covers the median with probability 1 - 2 P(X < k), where X has the binomial
#   distribution (n, 1/2). This assumes nothing about the distribution of the ratios. Needs 6 pairs.
# - The geometric mean, with Student's interval for the mean of the logarithms. Needs 2 pairs, and
#   assumes that the logarithms are roughly normally distributed.
function sort(list, n,   i, j, t) {
    for (i = 2; i <= n; ++i)
        for (j = i; j > 1 && list[j] < list[j - 1]; --j) {
            t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
        }
}
# Returns the median. Also sorts the list.
function median(list, n) {
    sort(list, n)
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function number(x) { return x == int(x) ? sprintf("%d", x) : sprintf("%.3f", x) }

function described(side, name,   n, pair, list, mid) {
    n = 0
    for (pair = 1; pair <= pairs; ++pair)
        if ((side, pair, name) in value) list[++n] = value[side, pair, name]
    if (n == 0) return "-"
    mid = median(list, n)
    return number(mid) " (" number(list[1]) "-" number(list[n]) ")"
}

# Returns the largest k whose interval covers the median with a probability of at least 95 %, or 0 if no interval does.
# Leaves that probability in `covered`.
function order_rank(n,   k, tail, chance) {
    chance = exp(-n * log(2)) # the probability of X = 0
    tail = 0
    covered = 0
    for (k = 1; 2 * k <= n; ++k) {
        tail += chance
        if (1 - 2 * tail < 0.95) break
        covered = 1 - 2 * tail
        chance *= (n - k + 1) / k
    }
    return k - 1
}

function median_interval(list, n,   k) { # list is sorted
    k = order_rank(n)
    return k ? sprintf("%.3f-%.3f", list[k], list[n + 1 - k]) : "-"
}

# Returns the 97.5 % quantile of Student's t. It is from a table for up to 20 degrees of freedom. Beyond that it is the
# sum of the first terms of an expansion around the normal quantile.
function student(df,   z, rows) {
    z = 1.959964
    split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 " \
        "2.131 2.120 2.110 2.101 2.093 2.086", rows, " ")
    if (df <= 20) return rows[df]
    return z + (z ^ 3 + z) / (4 * df) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df * df)
}

function geometric(list, n,   i, mean, square, half) {
    if (n < 2) return "-"
    for (i = 1; i <= n; ++i) {
        if (list[i] <= 0) return "-"
        mean += log(list[i]) / n
    }
    for (i = 1; i <= n; ++i) square += (log(list[i]) - mean) ^ 2
    half = student(n - 1) * sqrt(square / (n - 1) / n)
    return sprintf("%.3f (%.3f-%.3f)", exp(mean), exp(mean - half), exp(mean + half))
}

{
    value[$1, $2, $3] = $4 + 0
    if ($2 > pairs) pairs = $2 + 0
    if (!($3 in seen)) { seen[$3] = 1; names[++count] = $3 }
}
END {
    form = "%-28s %34s %34s %8s %13s %22s\n"
    printf form, "figure", A, B, "ratio", "its 95 %", "geometric mean (95 %)"
    for (i = 1; i <= count; ++i) {
        name = names[i]; n = 0
        for (pair = 1; pair <= pairs; ++pair)
            if ((("base", pair, name) in value) && value["base", pair, name] != 0 &&
                (("patched", pair, name) in value))
                ratio[++n] = value["patched", pair, name] / value["base", pair, name]
        of[name] = n ? median(ratio, n) : "-"
        compared[name] = n
        printf form, name, described("base", name), described("patched", name),
            n ? sprintf("%.3f", of[name]) : "-", median_interval(ratio, n), geometric(ratio, n)
    }
    if (order_rank(pairs))
        printf "%d pairs; the interval of the median covers %.1f %%\n", pairs, 100 * covered
    else
        printf "%d pairs: too few for an interval of the median (6)\n", pairs
    n = split(limits, limit, " ")
    for (i = 1; i <= n; ++i) {
        split(limit[i], part, "=")
        # A pair has no ratio if a figure is missing or the base's figure is 0. Such a pair counts as not below the
        # limit.
        if (compared[part[1]] + 0 < pairs || pairs + 0 == 0 || of[part[1]] >= part[2] + 0) {
            printf "ab: %s: the ratio is not below %s\n", part[1], part[2] >"/dev/stderr"
            failed = 3
        }
    }
    exit failed
}
