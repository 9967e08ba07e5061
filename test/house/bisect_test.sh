#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests examples/bisect.sh on a history of 200 commits, some of which do not build: it must find the commit that loses a
# goal. Also tests that the commands of examples/allocator-patch.yml accept a good change and reject a bad change. The
# "kernel" of a commit is the policy that the file `allocator` names. A wrapper of e4replay "builds" it and runs that
# policy.
#   bisect_test.sh SOURCE TOOLS
set -euo pipefail
source=$(realpath "$1") tools=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GIT_DIR GIT_WORK_TREE
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
fail() {
    echo "bisect_test: $*" >&2
    exit 1
}

mkdir "$work/bin"
cat >"$work/bin/e4replay" <<SH
#!/usr/bin/env bash
set -euo pipefail
if [ "\$1 \$2" = "kernel build" ]; then
    [ "\$(cat "\$3/allocator")" != broken ] || exit 1
    while [ \$# -gt 1 ]; do
        case \$1 in
        -o) out=\$2 ;;
        --commit) base=\${2%..*} ;;
        esac
        shift
    done
    cp allocator "\$out"
    [ -z "\${base:-}" ] || git show "\$base:allocator" >"\${out%.uml}-base.uml"
    exit 0
fi
words=()
for word; do
    case \$word in
    kernel:*) words+=("\$(cat "\${word#kernel:}")") ;;
    *) words+=("\$word") ;;
    esac
done
echo "\$1" >>"$work/calls"
exec "$tools/e4replay" "\${words[@]}"
SH
chmod +x "$work/bin/e4replay"
export PATH=$work/bin:$PATH

# Makes a history whose commit number $lost loses the goal of locality groups.
git -c init.defaultBranch=main init -q "$work/tree"
cd "$work/tree"
seed=${E4R_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed"
lost=$((RANDOM % 180 + 11))
policy=linux-7.3-group-goal
for i in $(seq 0 200); do
    [ "$i" -ne $lost ] || policy=linux-7.3
    echo "$policy" >allocator
    # Every 23rd commit does not build, except at and just before the bad commit: there, git could only report that one
    # of two commits is bad.
    [ $((i % 23)) -ne 7 ] || [ $((i - lost)) -eq 0 ] || [ $((i - lost)) -eq -1 ] || echo broken >allocator
    echo "$i" >number
    git add -A
    git commit -qm "change $i"
done
git bisect start HEAD HEAD~200 >/dev/null
git bisect run "$source/examples/bisect.sh" "$source/traces/smallfiles-1000-trim6.e4c" \
    'files/avg_extents > 2.5' >"$work/log" 2>&1 || { cat "$work/log" && fail "git bisect run failed"; }
found=$(git log -1 --format=%s refs/bisect/bad)
[ "$found" = "change $lost" ] || { cat "$work/log" && fail "found '$found', not change $lost"; }
grep -q "is the first bad commit" "$work/log" || fail "git is not sure"
calls=$(wc -l <"$work/calls")
[ "$calls" -le 16 ] || fail "$calls replays for 200 commits"
git bisect reset -q 2>/dev/null || git bisect reset >/dev/null 2>&1

# Runs the steps "Build both kernels" and "Review" of the workflow on a good change, then on the bad one.
steps() {
    python3 - "$source/examples/allocator-patch.yml" <<'PY'
import sys, yaml
jobs = yaml.safe_load(open(sys.argv[1]))["jobs"]
for step in jobs["review"]["steps"]:
    if step.get("name") in ("Build both kernels", "Review"):
        print(step["run"])
PY
}
steps | sed "s,/tmp/,$work/,g; s,--corpus /opt/e4replay/traces/corpus,$source/traces/smallfiles-1000-trim6.e4c," \
    >"$work/steps"
[ "$(grep -c '^e4replay' "$work/steps")" -eq 2 ] || fail "the workflow has other steps"
git checkout -q main
echo linux-6.12 >allocator
git commit -qam "a change that makes nothing worse"
BASE=HEAD~1 bash -e "$work/steps" >/dev/null || fail "the workflow refuses a change that makes nothing worse"
status=0
BASE=HEAD~201 bash -e "$work/steps" >/dev/null 2>"$work/said" || status=$?
[ $status -eq 4 ] || { cat "$work/said" && fail "the workflow ends with $status on a bad change"; }
grep -q "^e4replay: --fail-if 'files/avg_extents .* holds for smallfiles-1000-trim6:" "$work/said" ||
    fail "no line says which: $(cat "$work/said")"
[ -s review.html ] || fail "no page"
