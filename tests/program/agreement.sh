# The table of options, --help, the manual and the completion script say the same.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
page=$top_srcdir/docs/longleaf.1

longleaf help roff > lists
sed -n '/^\.SH VERBS$/,/^\.SH CONFIGURATION$/p' "$page" | sed '$d' > in_page
diff in_page lists > "$tap_note"
tap_case $? "the manual's lists are those of the program (make update-docs writes them)"
longleaf help completion > completion
diff "$top_srcdir/repl/completion/longleaf" completion > "$tap_note"
tap_case $? "the completion script is that of the program (make update-docs writes it)"

longleaf help options | grep -o '^ *\(-., \)\{0,1\} *--[a-z-]*' | grep -o -e '--[a-z-]*' | sort > options
[ "$(wc -l < options)" -ge 40 ]
tap_case $? "the list of all options is found"
while read -r option; do
    plain=$(echo "$option" | sed 's/-/\\\\-/g')
    grep -q "^.*\\\\fB$plain\\\\fR" "$page" || echo "$option is missing in the manual's OPTIONS"
    grep -q -e "$option[ |\")]" completion || echo "$option is missing in the completion script"
    grep -qx -e "$option" verbs_options 2> /dev/null || for verb in chat sum run text tokens info ppl bench models help; do
        longleaf $verb --help | grep -q -e " $option\( \|\$\)" && echo "$option"
    done | head -n 1 | grep -q . || echo "$option is in no verb's --help"
done < options > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "every option stands in the manual, in the completion script and in some verb's --help"

for verb in chat sum run text tokens info ppl bench models help; do
    longleaf $verb --help | grep -o '^ *\(-., \)\{0,1\} *--[a-z-]*' | grep -o -e '--[a-z-]*' | sort > helped
    sed -n "s/^    $verb) options=\"\(.*\)\" ;;/\1/p" completion | tr ' ' '\n' | sort > completed
    diff helped completed > "$tap_note"
    tap_case $? "$verb --help and completion list the same options"
done

# Each option that is offered is accepted: values of its kind are taken, and the next complaint is about
# something else.
while read -r option; do
    for verb in chat sum run text tokens info ppl bench models help; do
        longleaf $verb --help | grep -q -e " $option\( \|\$\)" || continue
        longleaf $verb "$option" > out 2>&1 < /dev/null
        grep -q 'there is no option' out && echo "$verb $option"
        break
    done
done < options > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "every option that is listed is known to the parser"

if command -v mandoc > /dev/null; then
    mandoc -Tlint "$page" > "$tap_note" 2>&1
    [ ! -s "$tap_note" ]
    tap_case $? "mandoc finds nothing wrong with the manual"
else
    tap_skip "mandoc finds nothing wrong with the manual" "mandoc is not installed"
fi
if command -v bash > /dev/null; then
    cat > try.bash <<'END'
. "$1"
COMP_WORDS=(longleaf sum --met) COMP_CWORD=2; _longleaf; echo "${COMPREPLY[*]}"
COMP_WORDS=(longleaf sum --method s) COMP_CWORD=3; _longleaf; echo "${COMPREPLY[*]}"
COMP_WORDS=(longleaf te) COMP_CWORD=1; _longleaf; echo "${COMPREPLY[*]}"
END
    is "$(bash try.bash "$top_srcdir/repl/completion/longleaf" | tr '\n' ' ')" "--method select text " \
        "bash completes verbs, options and their values"
else
    tap_skip "bash completes verbs, options and their values" "bash is not installed"
fi
tap_done
