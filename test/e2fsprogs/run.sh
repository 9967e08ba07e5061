#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs e2fsprogs's own tests with mke2fs-lazy in place of mke2fs. The results must be the same as with stock mke2fs.
#   run.sh [-a] [BUILD]     default: build/release; -a: all tests, not just those that run mke2fs
# The tests run three times: with stock mke2fs, with mke2fs-lazy, and with mke2fs-lazy that also initialises tables
# (itable_init=probe). The lines that mke2fs-lazy adds to the output are removed.
set -euo pipefail
cd "$(dirname "$0")/../.."
every=
[ "${1:-}" != -a ] || { every=1; shift; }
build=$(realpath "${1:-build/release}")
lazy=$build/tools/mke2fs-lazy
[ -x "$lazy" ] || { echo "run.sh: no $lazy: build mke2fs-lazy first" >&2; exit 1; }
test/e2fsprogs/fetch.sh bookworm "$build/e2fsprogs-bookworm"
tests=$build/e2fsprogs-bookworm/src/build/tests
source=$build/e2fsprogs-bookworm/src/tests
out=$build/e2fsprogs-suite
rm -rf "$out"
mkdir -p "$out"
make -C "$tests" test_one mke2fs.conf test_data.tmp >/dev/null

# Prints the names of the tests that run mke2fs, directly or through a helper.
uses_mke2fs() {
    local dir
    for dir in "$source"/[a-z]_*/; do
        grep -qsE 'MKE2FS|run_mke2fs' "$dir/script" "$dir"/*.sh || [ -n "$every" ] || continue
        basename "$dir"
    done
}
uses_mke2fs >"$out/names"

cat >"$out/config" <<END
. "$source/test_config"
MKE2FS="\$E4R_SUITE_MKE2FS"
END

cat >"$out/probing" <<END
#!/usr/bin/env bash
# Status 2 means that mke2fs-lazy refuses the options, because they leave nothing to initialise. Then it runs without
# itable_init.
said=\$(mktemp)
status=0
"$lazy" -E itable_init=probe "\$@" >"\$said" 2>&1 || status=\$?
if [ \$status = 2 ]; then
    rm -f "\$said"
    echo refused >>"$out/probing.count"
    exec "$lazy" "\$@"
fi
echo initialised >>"$out/probing.count"
grep -v '^mke2fs-lazy: ' "\$said"
rm -f "\$said"
exit \$status
END
chmod +x "$out/probing"

# Runs all tests once. Writes a line "NAME ok|failed|skipped" for each test.
pass() {
    local name=$1 mke2fs=$2 test result
    export E4R_SUITE_MKE2FS=$mke2fs E4R_MKE2FS=$tests/../misc/mke2fs TEST_CONFIG=$out/config
    cd "$tests"
    rm -f ./*.ok ./*.failed
    while read -r test; do
        # The test m_devdir copies /dev. It is skipped if a file disappears from /dev meanwhile, so try again.
        for _ in 1 2 3; do
            timeout 300 ./test_one --skip-slow-tests "$source/$test" </dev/null >"$out/log" 2>&1 ||
                true
            result=skipped
            [ ! -e "$test.ok" ] || result=ok
            [ ! -e "$test.failed" ] || { result=failed; cp "$test.failed" "$out/$name.$test.failed"; }
            [ "$test $result" = "m_devdir skipped" ] || break
        done
        echo "$test $result"
    done <"$out/names" >"$out/$name"
    cd - >/dev/null
    printf '%-28s %4d ok %4d failed %4d skipped\n' "$name" "$(grep -c ' ok$' "$out/$name")" \
        "$(grep -c ' failed$' "$out/$name")" "$(grep -c ' skipped$' "$out/$name")"
}

pass stock ../misc/mke2fs
pass lazy "$lazy"
pass lazy-probe "$out/probing"
if [ "$(grep -c ' ok$' "$out/stock")" -lt 30 ]; then
    echo "run.sh: too few tests pass with stock mke2fs to compare anything" >&2
    exit 1
fi
echo "file systems initialised:    $(grep -c initialised "$out/probing.count")," \
    "left to mke2fs since there is nothing to do: $(grep -c refused "$out/probing.count" || true)"
# These tests print the flags of a file system made with nodiscard. Stock mke2fs does not set ITABLE_ZEROED there, but
# probing does. This difference is intended. No other difference is allowed.
flags_differ=(f_opt_extent t_disable_mcsum_noinitbg t_enable_mcsum)
sed -E "s/^($(IFS='|'; echo "${flags_differ[*]}")) ok\$/\1 failed/" "$out/stock" >"$out/expected-probe"
for name in "${flags_differ[@]}"; do
    grep -q ITABLE_ZEROED "$out/lazy-probe.$name.failed"
done
different=0
diff "$out/stock" "$out/lazy" || different=1
diff "$out/expected-probe" "$out/lazy-probe" || different=1
[ $different = 0 ] || { echo "run.sh: results differ from those with stock mke2fs" >&2; exit 1; }
echo "the same results as with stock mke2fs, but for the flag in ${flags_differ[*]}"
