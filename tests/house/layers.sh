# Arrows run down: every include is one that LAYERS allows.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 99

sources()
{
    find src cuda repl jupyter_kernel -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.S' \) | sort
}
walk()
{
    # shellcheck disable=SC2046 # names in this tree hold no blanks; the last case sees to it
    awk -v check="$1" -f tests/house/layers.awk "$2" $(sources) > "$tap_note"
    [ ! -s "$tap_note" ]
}

[ "$(sources | wc -l)" -gt 20 ]
tap_case $? "the walk finds the sources"
walk upward LAYERS
tap_case $? "every include goes down, as LAYERS says"
walk frontend LAYERS
tap_case $? "console, repl and jupyter_kernel use the public header only"

# The walk itself is tried on a forbidden arrow, so that it cannot pass by seeing nothing.
sed 's/^src\/tensor:.*/src\/tensor:/' LAYERS > "$tap_dir/LAYERS"
! walk upward "$tap_dir/LAYERS" && grep -q 'LAYERS does not allow base' "$tap_note"
tap_case $? "an arrow that LAYERS does not list is seen"
{ echo 'src/base: engine'; cat LAYERS; } > "$tap_dir/LAYERS"
! walk upward "$tap_dir/LAYERS" && grep -q 'stands above' "$tap_note"
tap_case $? "an arrow upward inside LAYERS is seen"

sources | grep '[^A-Za-z0-9_./-]' > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "source names hold letters, digits and _ . - only"
tap_done
