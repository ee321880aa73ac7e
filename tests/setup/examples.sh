# Runs the examples of README and the man pages as they stand, so that they cannot rot.
# SPDX-License-Identifier: Apache-2.0
#
# A shell example passes when it ends with success and its output holds every fragment it promises; it must
# promise one. What README promises, it must also show. A C example must compile without a warning against the public header, link to the shared
# library alone and run. tests/setup/examples.awk says how examples are marked.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/model.sh"

for file in README.md docs/longleaf.1 docs/longleaf-kernel.1 docs/longleaf.3; do
    [ -f "$top_srcdir/$file" ] || continue
    mkdir -p "$tap_dir/$file"
    awk -v into="$tap_dir/$file" -f "$top_srcdir/tests/setup/examples.awk" "$top_srcdir/$file"
done
mkdir "$tap_dir/home" "$tap_dir/folder"
PATH=$top_builddir:$PATH
cd "$tap_dir/folder" || exit 99

promises_kept() # EXAMPLE_WITHOUT_SUFFIX
{
    [ -s "$1.expect" ] || { echo "the example promises nothing; add an expect line" >> "$tap_note"; return 1; }
    while read -r fragment; do
        grep -qF -- "$fragment" "$1.output" || { echo "the output lacks: $fragment" >> "$tap_note"; return 1; }
    done < "$1.expect"
}
run_shell() # EXAMPLE_WITHOUT_SUFFIX
{
    LONGLEAF_MODELS=$(dirname "$default_model") HOME=$tap_dir/home XDG_CONFIG_HOME= sh -eu "$1.sh" > "$1.output" 2>&1 < /dev/null
    status=$?
    [ $status -eq 0 ] || echo "ended with $status" >> "$tap_note"
    { [ $status -eq 0 ] && promises_kept "$1"; } || { cat "$1.sh" "$1.output" >> "$tap_note"; return 1; }
}
build_c() # EXAMPLE_WITHOUT_SUFFIX
{
    # shellcheck disable=SC2086 # flags are lists
    ${CC:-cc} -std=c11 -pedantic -Wall -Wextra -Werror ${ll_sanitizers:-} -I"$top_srcdir/src" -o "$1" "$1.c" \
        "$top_builddir/.libs/liblongleaf.so" -Wl,-rpath,"$top_builddir/.libs" > "$tap_note" 2>&1
}
run_c() # EXAMPLE_WITHOUT_SUFFIX
{
    printf 'The lighthouse at Cape Orrin was built in 1874. It was lit with whale oil until 1902.\n' > text.txt
    "$1" "$default_model" text.txt > "$1.output" 2>> "$tap_note" < /dev/null && promises_kept "$1"
}

# A promise that README does not show would let the shown output go stale.
awk '/^<!-- expect: / { sub(/^<!-- expect: /, ""); sub(/ -->$/, ""); wanted[$0] = 1; next }
    { text = text " " $0 }
    END { for (w in wanted) if (index(text, w) == 0) print "README does not show: " w }' "$top_srcdir/README.md" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "README shows what its examples promise"

found=0
for from in "$tap_dir"/*.md/*.from "$tap_dir"/docs/*/*.from; do
    [ -f "$from" ] || continue
    example=${from%.from}
    place=$(cat "$from")
    found=$((found + 1))
    if [ -f "$example.c" ]; then
        build_c "$example"
        built=$?
        tap_case $built "the C example at $place compiles"
        if [ -z "$default_model" ]; then
            tap_skip "the C example at $place runs" "the default model is not here"
        elif [ $built -eq 0 ]; then
            run_c "$example"
            tap_case $? "the C example at $place runs"
        fi
    elif [ -z "$default_model" ]; then
        tap_skip "the example at $place runs" "the default model is not here"
    else
        run_shell "$example"
        tap_case $? "the example at $place runs and prints what it promises"
    fi
done
[ $found -ge 4 ]
tap_case $? "the examples are found"
tap_done
