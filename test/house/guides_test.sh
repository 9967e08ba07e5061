#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Follows kernel/docs/adding-a-job.md and kernel/docs/adding-a-series.md in a copy of kernel/. A tree with one file
# replaces Linux, so steps that need a real kernel are left out. Follows docs/adding-a-row.md on a copy of the schemas.
# Checks that the steps and options in the pages' lab commands exist.
#   guides_test.sh SOURCE
set -euo pipefail
source=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset E4R_LAB E4R_PATCHES E4R_SERIES GIT_DIR GIT_WORK_TREE
lab=kernel/lab/lab

fail() {
    echo "guides_test: $*" >&2
    exit 1
}

# commands PAGE FROM TO: prints the commands between two headings, except commands that need a kernel.
commands() {
    awk -v from="### $2" -v to="### $3" 'index($0, to) == 1 { exit } index($0, from) == 1 { inside = 1 }
        inside && /^    / { print substr($0, 5) }' "$source/$1"
}

mkdir "$work/tree"
cp -R "$source/kernel" "$work/tree"
cd "$work/tree"
export GIT_CONFIG_GLOBAL=$work/gitconfig GIT_CONFIG_NOSYSTEM=1
git config --global user.name "A Reader"
git config --global user.email reader@example.org
git config --global init.defaultBranch main

# Make the job. Its file is the code block of the page.
[ ! -e kernel/lab/jobs/prealloc.sh ] || fail "there is a job prealloc: the page needs another example"
awk '/^```$/ { exit } inside { print } /^```sh$/ { inside = 1 }' "$source/kernel/docs/adding-a-job.md" \
    >kernel/lab/jobs/prealloc.sh
bash -n kernel/lab/jobs/prealloc.sh
# Runs shellcheck if it is installed. (test/lint.sh runs it on every job.)
if command -v shellcheck >/dev/null; then shellcheck -S warning kernel/lab/jobs/prealloc.sh; fi
commands kernel/docs/adding-a-job.md "2. " "3. " >"$work/commands"
[ "$(wc -l <"$work/commands")" = 2 ] || fail "step 2 of adding-a-job.md has other commands than two"
while read -r command; do
    named=$(bash -c "$command" 2>/dev/null) || fail "'$command' ends with status $?"
    grep -qx prealloc <<<"$named" || fail "'$command' does not name the job"
done <"$work/commands"
# The page must name exactly the fields that jobs can have.
# shellcheck disable=SC2016 # a pattern
fields=$(grep -ohE 'job_field "\$[^"]*" [a-z-]+|job_field "\$\(job_file "\$1"\)" [a-z]+' kernel/lab/*.sh kernel/lab/lib/*.sh |
    awk '{ print $NF }' | sort -u)
[ "$(wc -w <<<"$fields")" -ge 10 ] || fail "jobs have the fields $fields?"
for field in $fields; do
    grep -qE "^\| .*\`$field\`.* \|" "$source/kernel/docs/adding-a-job.md" || fail "adding-a-job.md does not know '# $field:'"
done
for job in kernel/lab/jobs/*.sh; do
    # Read only the last comments before the first command, because the text above may also contain colons.
    while read -r field; do
        grep -qx -- "$field" <<<"$fields" || fail "$job: nothing reads '# $field:'"
    done < <(sed '/^[^#]/,$d; /^# shellcheck/d' "$job" | tac | sed -nE '/^# [a-z][a-z-]*: /!q; s/^# ([a-z-]+): .*/\1/p')
done

# Make the series. A repository with one file replaces the repository that `lab fetch` would make of Linux.
git init -q -b base build/lab/base
git -C build/lab/base config user.name lab
git -C build/lab/base config user.email lab@localhost
mkdir -p build/lab/base/fs/ext4
printf '#define MB_DEFAULT_MAX_TO_SCAN\t\t200\n' >build/lab/base/fs/ext4/mballoc.h
printf 'kernelversion:\n\t@echo 6.1.192\n' >build/lab/base/Makefile
git -C build/lab/base add .
git -C build/lab/base commit -q -m base
commands kernel/docs/adding-a-series.md "1. " "4. " >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 10 ] || fail "adding-a-series.md has fewer commands than it had"
bash -e "$work/commands" >"$work/out" 2>"$work/err" || fail "adding-a-series.md: $(cat "$work/err")"
[ "$(tail -1 "$work/out")" = "$PWD/build/lab/scan-less" ] || fail "the tree is $(cat "$work/out")"
grep -q 'MAX_TO_SCAN.*100' build/lab/scan-less/fs/ext4/mballoc.h || fail "the change is not in the tree"
grep -q '^Signed-off-by: A Reader <reader@example.org>$' kernel/patches/scan-less/0001-*.patch ||
    fail "the patch is signed by somebody else"
[ ! -e build/scan-less ] || fail "the tree of step 1 is left"
[[ $("$lab" apply scan-less 2>&1) == *"applied already"* ]] || fail "what is applied is applied again"
# patches_of SERIES: prints the paths of the series' patches.
patches_of() {
    bash -c '. kernel/lab/lib/common.sh; . kernel/lab/lib/series.sh; open_series "$1"; patches' series "$1"
}
# A topic includes the topics named in its heading.
printf '\n# few, on scan-less,none: of this test\nfew/0001-few.patch\n' >>kernel/series/6.1.series
printf '\n# own, not in all: of this test\nown/0001-own.patch\n' >>kernel/series/6.1.series
for name in few scan-less own,few; do
    patches_of "$name" | sed 's,/.*,,' | paste -sd' '
done >"$work/brought"
[ "$(paste -sd, "$work/brought")" = "scan-less few,scan-less,scan-less few own" ] || fail "topics brought: $(cat "$work/brought")"
# A topic that is not in `all` can be added to it.
for name in all all,own; do
    patches_of "$name" >"$work/brought"
    [ "$name $(grep -c '^own/' "$work/brought") $(grep -c '^few/' "$work/brought")" = "$name $((${#name} > 3)) 1" ] ||
        fail "$name is $(cat "$work/brought")"
done
# Check which policy figures.sh uses for each tree.
policy=$(bash -c '. kernel/lab/lib/common.sh; . kernel/lab/lib/figures.sh
    for tree in base scan-less all trace-inputs mballoc-cr1.5,es-shrinker 6.12 6.12-es-shrinker 7.3-trace-inputs 7.3-rotalloc \
        7.3-group-goal-trace-inputs; do policy_of_tree $tree; done' | paste -sd' ')
six=linux-6.12.77
[ "$policy" = "legacy legacy cr1.5 legacy cr1.5 $six $six linux-7.3 rotalloc linux-7.3-group-goal" ] ||
    fail "policies of trees: $policy"
# Documents use these names of policies, never an alias, so each must exist in the sources.
for name in $policy; do
    grep -rqF ".name = \"$name\"" "$source/src/allocator" "$source/examples" || fail "'$name' is not the name of a policy"
done

# kernel/README.md must have a row for each topic.
topics=$(sed -nE 's,^([a-z0-9.-]+)/.*,\1,p' "$source"/kernel/series/*.series | sort -u)
[ "$(wc -w <<<"$topics")" -ge 6 ] || fail "topics: $topics"
for topic in $topics; do
    grep -qF "| \`$topic\` |" "$source/kernel/README.md" || fail "kernel/README.md has no row for $topic"
done

# Add the row of a report. The command of step 2 inserts the key in the schemas, next to a given key.
cp -R "$source/docs" "$work/tree"
commands docs/adding-a-row.md "2. " "3. " >"$work/commands"
bash -e "$work/commands"
added=$(cat docs/schema/*.json | grep -c '"blocks_per_extent": {')
[ "$added" -ge 2 ] && [ "$added" = "$(cat docs/schema/*.json | grep -cE '"(avg|most)_extents": \{')" ] ||
    fail "step 2 of adding-a-row.md misses a schema"
for schema in docs/schema/*.json; do python3 -m json.tool "$schema" >"$work/out" || fail "step 2 of adding-a-row.md breaks $schema"; done

# Checks the lab commands in all pages.
shown=0
while IFS=: read -r page _ command; do
    read -ra words <<<"${command#*/lab }"
    step=${words[0]}
    shown=$((shown + 1))
    [ -x "$source/kernel/lab/$step.sh" ] || fail "$page: the lab has no step '$step'"
    for word in "${words[@]:1}"; do
        [[ $word != '#'* && $word != '&&' && $word != '|' && $word != '>'* ]] || break
        [[ $word == --* ]] || continue
        grep -qE -- "(^|[^-a-z])$word\b" "$source/kernel/lab/$step.sh" "$source"/kernel/lab/lib/figures.sh ||
            fail "$page: 'lab $step' has no option $word"
    done
done < <(cd "$source" && grep -noE 'kernel/lab/lab [a-z-]+( [^`&)|]*)?' -r README.md CONTRIBUTING.md docs kernel --include=*.md)
[ $shown -ge 40 ] || fail "$shown commands of the lab"
