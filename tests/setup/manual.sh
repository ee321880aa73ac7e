# Man pages are sound, and every option and environment variable they name is known to the program.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 99

for page in docs/*.[1357]; do
    head -n 2 "$page" | grep -q '^\.\\" [^ ]* [^ ]* [^ ]*' && sed -n 1,3p "$page" | grep -q 'SPDX-License-Identifier: Apache-2.0'
    tap_case $? "$page begins with its purpose and licence"
    if command -v man > /dev/null && command -v groff > /dev/null; then
        MANWIDTH=100 man --warnings -l "$page" 2> "$tap_note" > "$tap_dir/page"
        [ -s "$tap_dir/page" ] && [ ! -s "$tap_note" ]
        tap_case $? "$page is formatted without a warning"
    else
        tap_skip "$page is formatted without a warning" "man-db and groff are not installed"
    fi
done

# longleaf.3 lists what the header declares, no more and no fewer.
${CC:-cc} -E -P src/longleaf.h | grep -o 'll_[a-z0-9_]*(' | tr -d '(' | sort -u > "$tap_dir/declared"
sed 's/\\-/-/g' docs/longleaf.3 | grep -o 'll_[a-z0-9_]*' | sort -u > "$tap_dir/named"
comm -23 "$tap_dir/declared" "$tap_dir/named" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "longleaf(3) names every function of the header"
${CC:-cc} -E -P src/longleaf.h | grep -o 'll_[a-z0-9_]*' | sort -u > "$tap_dir/known"
comm -13 "$tap_dir/known" "$tap_dir/named" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "longleaf(3) names nothing that the header lacks"
tap_done
