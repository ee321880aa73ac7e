# The tree holds no paths of one machine, no unfinished business and no private names in public places.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 99

files()
{
    find . -name .git -prune -o -name '*build*' -prune -o -name _inst -prune -o -name autom4te.cache -prune -o -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name '*.md' \
        -o -name '*.inc' -o -name '*.am' -o -name '*.ac' -o -name 'll_*.m4' -o -name '*.[1357]' -o -name quickstart -o -path './.ci/run' \) \
        -print | grep -v '^\./tests/house/words\.sh$' | sort
}

# shellcheck disable=SC2046 # names hold no blanks, see layers.sh
grep -nE '(^|[^A-Za-z0-9_.$}/-])/(work|root|home|Users)/' $(files) > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "no file names a path of one machine"
# shellcheck disable=SC2046
grep -nE '(TODO|FIXME)' $(files) > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "no file holds work put off in a comment"
# shellcheck disable=SC2046
grep -nE '^[ ]*//' $(files | grep '\.[ch]$') > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "C comments are /* */ and hold no switched-off code lines"
# shellcheck disable=SC2046
grep -nE '(^|[^a-z_])(strto(d|f|ld)|atof) *\(' $(files | grep '^\./\(src\|cuda\)/.*\.[ch]$' |
    grep -v '^\./src/\(console/\|base/number\.c\)') > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "the library reads numbers by base/number.h: the locale of its caller may write a comma"
tap_done
