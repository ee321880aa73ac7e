# Adds up the test cases of build folders: failures and skips by name, then one line of totals.
# SPDX-License-Identifier: Apache-2.0
#
# usage: totals.sh BUILD_FOLDER…   Exit status: 0 when nothing failed and something passed, else 1.
# The numbers come from the .trs files, one line a case; the names from the .log beside each.
[ $# -gt 0 ] || { echo "usage: totals.sh BUILD_FOLDER..." >&2; exit 2; }

find "$@" -name '*.trs' | sort | sed 's/\.trs$/.log/' | xargs -r awk '
    /^(SKIP|FAIL|XPASS|ERROR): tests\// {
        label = $1 == "SKIP:" ? "skipped: " : "FAILED:  "
        test = $2; sub(/^tests\//, "", test)
        $1 = $2 = ""; sub(/^ +/, ""); sub(/^[0-9]+ *(- )?/, ""); sub(/^- /, ""); sub(/ *# *SKIP */, ": ")
        print label test ": " $0
    }' | sort -r
find "$@" -name '*.trs' -exec cat {} + | awk '
    /^:test-result: (PASS|XFAIL)/ { passed++; next }
    /^:test-result: SKIP/ { skipped++; next }
    /^:test-result: / { failed++ }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit (failed > 0 || passed == 0)
    }'
