# SPDX-License-Identifier: GPL-2.0-only
# Prints the tables of xfstests.sh. Reads lines "CONFIG TEST SIDE RUN RESULT SECONDS LOG REASON", separated by tabs.
# SIDE is stock or patched. LOG is a line of the kernel log, or "-". RESULT is pass, fail, notrun or spared. A test is
# spared if the stock kernel did not run it because the patched kernel had passed it: such a test cannot be a new
# failure.
#   -v A=TITLE -v B=TITLE    titles of the two kernels
# Exit status 1 if the patched kernel failed, in any run, a test that stock passed in all of its runs; 3 if
# nothing was compared. A spared test that the patched kernel passed in all of its runs counts as compared.
function runs(side, test) { return n[config, side, test] + 0 }
function of(side, test, result) { return count[config, side, test, result] + 0 }
function class(side, test,   all) {
    all = runs(side, test)
    if (!all) return (config, side, test) in spared ? "spared" : "not reached"
    if (of(side, test, "pass") == all) return "passed"
    if (of(side, test, "fail") == all) return "failed"
    if (of(side, test, "notrun") == all) return "not run"
    return "now and then"
}
function words(side, test,   all) {
    all = runs(side, test)
    if (!all) return class(side, test)
    if (of(side, test, "notrun") == all) return "not run"
    return of(side, test, "pass") " of " all
}
function why(side, test) { return reason[config, side, test] }
function cell(text) { gsub(/[|]/, "/", text); return text }
function counts(side, title,   i, c, sum) {
    for (i = 1; i <= tests[config]; ++i) ++sum[class(side, name[config, i])]
    printf "| %s | %d | %d | %d | %d | %d |", title, sum["passed"], sum["failed"], sum["now and then"],
        sum["not run"], sum["not reached"]
    if (n_spared[config]) printf " %d |", sum["spared"]
    print ""
}
function table(   i, test, a, b, rows, reached) {
    printf "%s**%s**: %d tests\n\n", (tables++ ? "\n" : ""), config, tests[config]
    print "| kernel | passed | failed | now and then | not run | not reached |" (n_spared[config] ? " spared |" : "")
    print "|---|---|---|---|---|---|" (n_spared[config] ? "---|" : "")
    counts("stock", A)
    counts("patched", B)
    for (i = 1; i <= tests[config]; ++i) {
        test = name[config, i]
        a = class("stock", test); b = class("patched", test)
        if (a == "not reached" || b == "not reached" || (a == "spared" && b != "passed")) continue
        ++compared
        if (a == "spared") continue
        if (a == b && words("stock", test) == words("patched", test)) continue
        if (!rows++) {
            printf "\npasses that differ:\n\n| test | %s | %s | reason |\n|---|---|---|---|\n", A, B
        }
        printf "| %s | %s | %s | %s |\n", test, words("stock", test), words("patched", test),
            cell(why("patched", test) != "" ? why("patched", test) : why("stock", test))
        if (a == "passed" && of("patched", test, "fail")) new[++broken] = config " " test
    }
    if (!rows) print "\npasses that differ: none"
    rows = 0
    for (i = 1; i <= tests[config]; ++i) {
        test = name[config, i]
        if (!of("stock", test, "fail") || !of("patched", test, "fail")) continue
        if (!rows++) {
            printf "\nfailed on both:\n\n| test | passes of %s | of %s | reason |\n|---|---|---|---|\n", A, B
        }
        printf "| %s | %s | %s | %s |\n", test, words("stock", test), words("patched", test),
            cell(why("patched", test))
    }
    rows = 0
    for (i = 1; i <= logs[config]; ++i) {
        if (!rows++) print "\nin the kernel log of tests that passed:\n\n| test | kernel | line |\n|---|---|---|"
        print log_row[config, i]
    }
}
BEGIN { FS = "\t" }
NF < 8 || ($3 != "stock" && $3 != "patched") || $5 !~ /^(pass|fail|notrun|spared)$/ {
    printf "xfstests: line %d of the results is not a result: %s\n", NR, $0 >"/dev/stderr"
    bad = 1
    exit 3
}
{
    config = $1; test = $2
    if (!(config in tests)) configs[++n_configs] = config
    if (!((config, test) in seen)) { seen[config, test] = 1; name[config, ++tests[config]] = test }
    if ($5 == "spared") {
        spared[config, $3, test] = 1
        ++n_spared[config]
        next
    }
    ++n[config, $3, test]
    ++count[config, $3, test, $5]
    if ($5 == "fail" || ($5 == "notrun" && why($3, test) == "")) reason[config, $3, test] = $8
    if ($5 == "pass" && $7 != "-") log_row[config, ++logs[config]] = \
        sprintf("| %s | %s | %s |", test, $3 == "stock" ? A : B, cell($7))
}
END {
    if (bad) exit 3
    for (k = 1; k <= n_configs; ++k) { config = configs[k]; table() }
    if (!compared) {
        print "xfstests: no test has a result of both kernels" >"/dev/stderr"
        exit 3
    }
    print ""
    if (!broken) { printf "no new failure in %d comparisons\n", compared; exit 0 }
    printf "new failures: %d\n", broken
    for (i = 1; i <= broken; ++i) print "  " new[i]
    exit 1
}
