# SPDX-License-Identifier: GPL-2.0-only
# Converts the output of a guest that ran jobs/xfstests.sh to lines "TEST RESULT SECONDS REASON", separated by tabs.
# RESULT is pass, fail, notrun, or running for the test during which the guest ended.
#
# Relevant lines begin with "xfstests: ". After that comes "at TEST SECONDS" (a test begins; seconds since the guest's
# start), "limit TEST SECONDS", "end SECONDS", or a line printed by xfstests's `check`. A line of `check` that begins
# with a test's name has the result of that test. The lines up to the next name belong to the same test:
#   generic/001        5s                                 passed
#   generic/002       [not run] REASON                    not run
#   generic/003       [failed, exit status 1]- output mismatch (see ...)    failed; so does any other text
function flush(   text, result, reason) {
    if (test == "" || (test in done)) return
    text = block
    if (limit) {
        result = "fail"
        reason = "limit: still running after " now - began " s"
    } else if (!has_line) {
        result = "running"
    } else if (match(text, /\[not run\] */)) {
        result = "notrun"
        reason = substr(text, RSTART + RLENGTH)
    } else if (text ~ /(^|[ \n])[0-9]+s *$/ && text !~ /\(see |\[failed|\[dumped/) {
        result = "pass"
    } else {
        result = "fail"
        reason = text
    }
    done[test] = 1
    sub(/\n.*/, "", reason)
    gsub(/ *\(see [^)]*\)/, "", reason)
    gsub(/\t/, " ", reason)
    gsub(/^[ -]+| +$/, "", reason)
    if (reason == "") reason = result == "fail" ? "no reason was printed" : "-"
    printf "%s\t%s\t%d\t%s\n", test, result, (now > began ? now - began : 0), reason
}
function begin(name) {
    if (name == test) return
    flush()
    test = name
    block = ""
    has_line = limit = 0
    began = now
}
{ sub(/\r$/, "") }
!/^xfstests: / { next }
{ $0 = substr($0, 11) }
/^at [^ ]+ [0-9]+$/ { now = $3; begin($2); next }
/^limit [^ ]+ [0-9]+$/ { now = $3; limit = 1; next }
/^end [0-9]+$/ { now = $2; next }
# These lines begin the summary at the end of the output.
/^(Ran|Not run|Failures|Interrupted!|Passed all|Failed [0-9]+ of)([: ]|$)/ { finished = 1 }
finished { next }
/^[a-z0-9]+\/[0-9]+[-a-zA-Z0-9]* / {
    begin($1)
    has_line = 1
    block = $0
    sub(/^[^ ]+ +/, "", block)
    next
}
test != "" { has_line = 1; block = block "\n" $0 }
END { flush() }
