# Adds up the test cases of build folders: failures and skips by name, then one line of totals.
# SPDX-License-Identifier: Apache-2.0
#
# usage: totals.sh [--failed WHAT] BUILD_FOLDER…   --failed counts one failure outside the tests.
# Exit status: 0 when nothing failed and something passed, else 1.
# The numbers come from the .trs files, one line a case; the names from the .log beside each.
outside=0
if [ "${1:-}" = --failed ]; then
    echo "FAILED:  $2"
    outside=1
    shift 2
fi
[ $# -gt 0 ] || { echo "usage: totals.sh [--failed WHAT] BUILD_FOLDER..." >&2; exit 2; }

find "$@" -name '*.trs' | sort | sed 's/\.trs$/.log/' | xargs -r awk -v builds=$# '
    /^(SKIP|FAIL|XPASS|ERROR): tests\// {
        label = $1 == "SKIP:" ? "skipped: " : "FAILED:  "
        test = $2; sub(/^tests\//, "", test)
        if (builds > 1) test = substr(FILENAME, 1, index(FILENAME, "/tests/") - 1) " " test
        $1 = $2 = ""; sub(/^ +/, ""); sub(/^[0-9]+ *(- )?/, ""); sub(/^- /, ""); sub(/ *# *SKIP */, ": ")
        print label test ": " $0
    }' | sort -r
find "$@" -name '*.trs' -exec cat {} + | awk -v failed=$outside '
    /^:test-result: (PASS|XFAIL)/ { passed++; next }
    /^:test-result: SKIP/ { skipped++; next }
    /^:test-result: / { failed++ }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit (failed > 0 || passed == 0)
    }'
