# The Python binding of the comparisons lays its structs out as longleaf.h does.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
command -v python3 > /dev/null || tap_skip_all "python3 is not installed"

python3 -B "$top_srcdir/tests/peer/ours.py" > "$tap_dir/same.c"
[ "$(grep -c '^_Static_assert' "$tap_dir/same.c")" -gt 30 ]
tap_case $? "sizes and places are printed"
${CC:-cc} -I"$top_srcdir/src" -fsyntax-only "$tap_dir/same.c" 2> "$tap_note"
tap_case $? "longleaf.h has the same"
tap_done
