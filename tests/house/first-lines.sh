# Every file says what it is for in its first line and its licence in the second; lines keep their shape.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 99

c_sources()
{
    find src cuda repl jupyter_kernel tests -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort
}
scripts()
{
    find quickstart .ci src tests docs -type f \( -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name quickstart \
        -o -path '.ci/run' \) 2> /dev/null | sort
}
quiet()
{
    [ ! -s "$tap_note" ]
    tap_case $? "$1"
}

for file in $(c_sources); do
    sed -n 1p "$file" | grep -Eq '^/\* [^ ]+ [^ ]+ [^ ]+' || echo "$file"
done > "$tap_note"
quiet "a C source's first line says its purpose in at least three words"
for file in $(c_sources); do
    sed -n 2p "$file" | grep -q '^ \* SPDX-License-Identifier: Apache-2\.0' || echo "$file"
done > "$tap_note"
quiet "a C source's second line is its licence"
for file in $(scripts); do
    sed 1,1{/^#!/d} "$file" | sed -n 1p | grep -Eq '^(# |""")[^ ]+ [^ ]+ [^ ]+' || echo "$file"
done > "$tap_note"
quiet "a script's first line after #! says its purpose"
for file in $(scripts); do
    sed -n 1,4p "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || echo "$file"
done > "$tap_note"
quiet "a script names its licence in its first lines"

# shellcheck disable=SC2046 # names hold no blanks, see layers.sh
awk '{ line = $0; gsub(/[\200-\277]/, "", line) } length(line) > 110 { print FILENAME ":" FNR ": " length(line) " columns" }' \
    $(c_sources) > "$tap_note"
quiet "no line of C is wider than 110 columns"
grep -n "$(printf '\t')" $(c_sources) /dev/null > "$tap_note"
quiet "no C source holds a tab"
grep -nE '[ 	]+$' $(c_sources) $(scripts) /dev/null > "$tap_note"
quiet "no line ends in blanks"
# The public header is a manual, and one file by its purpose.
wc -l $(c_sources | grep -v '/longleaf\.h$') | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }' > "$tap_note"
quiet "no source is longer than 800 lines"
for file in $(c_sources) $(scripts); do
    [ -z "$(tail -c 1 "$file")" ] || echo "$file"
done > "$tap_note"
quiet "every file ends with a newline"

grep -nE '^(<<<<<<<|>>>>>>>) ' $(c_sources) $(scripts) README.md NEWS.md CONTRIBUTING.md configure.ac Makefile.am \
    > "$tap_note" 2> /dev/null
quiet "no file holds the marks of a merge that was left undone"
tap_done
