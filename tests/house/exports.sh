# liblongleaf.so exports exactly the functions that longleaf.h declares.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
library=$top_builddir/.libs/liblongleaf.so
[ -e "$library" ] || tap_skip_all "no shared library in this build"
command -v nm > /dev/null || tap_skip_all "nm is not installed"

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u > "$tap_dir/exported"
${CC:-cc} -E -P "$top_srcdir/src/longleaf.h" | grep -o 'll_[a-z0-9_]*(' | tr -d '(' | sort -u > "$tap_dir/declared"

[ "$(wc -l < "$tap_dir/declared")" -gt 50 ]
tap_case $? "the header's functions are found"
comm -13 "$tap_dir/exported" "$tap_dir/declared" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "every function that longleaf.h declares is exported"
comm -23 "$tap_dir/exported" "$tap_dir/declared" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "nothing else is exported"
tap_done
