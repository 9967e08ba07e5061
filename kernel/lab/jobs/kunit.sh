# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# Checks the results of ext4's KUnit tests, which ran while this kernel booted. Fails if a suite in $SUITES is missing
# or incomplete. If a test fails, its line in the kernel log counts as trouble, so the job fails. SUITES defaults to the
# suites of 6.1 with all series. 7.3 has ext4_inode_test and ext4_mballoc_test. The series dio-overwrite adds
# ext4_dio_test, and es-shrinker adds ext4_es_test.
# variant: kunit
# timeout: 120
log=$(dmesg | sed 's/^\[[^]]*\] //')
for suite in ${SUITES:-ext4_inode_test ext4_mballoc_test ext4_dio_test ext4_es_test}; do
    if ! grep -qE "^ok [0-9]+ (- )?$suite$" <<<"$log"; then
        say "KUnit suite $suite did not pass or did not run"
        exit 1
    fi
    passed=$(awk -v suite="$suite" '
        $0 ~ "# Subtest: " suite "$" { inside = 1 }
        inside && /^    ok / { ++cases }
        inside && /^        ok / { ++parameters }
        $0 ~ "^ok [0-9]+ (- )?" suite "$" { inside = 0 }
        END { print cases + parameters }' <<<"$log")
    figure "$suite/passed" "$passed"
done
