# The few words a shell test needs to speak TAP; sourced with `. "$top_srcdir/tests/tap.sh"`.
# SPDX-License-Identifier: Apache-2.0
#
#   tap_case STATUS NAME       one case: STATUS 0 is a pass; a failure shows the file $tap_note, if any
#   tap_skip NAME REASON       one case left out, and why
#   tap_skip_all REASON        the whole test left out; ends it
#   tap_done                   the plan; call it last
# $tap_dir is a scratch folder that goes away with the test; $tap_note a file in it for diagnostics.

tap_count=0
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/longleaf-test.XXXXXX") || exit 99
tap_note=$tap_dir/.note
trap 'rm -rf "$tap_dir"' EXIT
trap 'exit 130' INT TERM HUP

tap_case()
{
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        echo "not ok $tap_count - $2"
        if [ -s "$tap_note" ]; then
            head -n "${tap_note_lines:-40}" "$tap_note" | awk '{ print "# " $0 }' # ends its last line, too
        fi
    fi
    rm -f "$tap_note"
}

tap_skip()
{
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

tap_skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

tap_done()
{
    echo "1..$tap_count"
}
