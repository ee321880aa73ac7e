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

names_in() # FILE: the long options that a --help lists
{
    grep -o '^ *\(-., \)\{0,1\} *--[a-z-]*' "$1" | grep -o -e '--[a-z-]*' | sort
}
verbs='chat sum ask cache run text tokens info plan ppl bench models log quantize convert check help'
longleaf help options > all
names_in all > options
[ "$(wc -l < options)" -ge 40 ]
tap_case $? "the list of all options is found"
for verb in $verbs; do
    longleaf $verb --help > helped
    names_in helped > "options_of_$verb"
    sed -n "s/^    $verb) options=\"\(.*\)\" ;;/\1/p" completion | tr ' ' '\n' | sort > completed
    diff "options_of_$verb" completed > "$tap_note"
    tap_case $? "$verb --help and completion list the same options"
done
while read -r option; do
    plain=$(echo "$option" | sed 's/-/\\\\-/g')
    grep -q "^.*\\\\fB$plain\\\\fR" "$page" || echo "$option is missing in the manual's OPTIONS"
    grep -q -e "$option[ |\")]" completion || echo "$option is missing in the completion script"
    cat options_of_* | grep -qx -e "$option" || echo "$option is in no verb's --help"
done < options > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "every option stands in the manual, in the completion script and in some verb's --help"

# Each option that is offered is known: whatever the next complaint is about, it is not the name.
while read -r option; do
    for verb in $verbs; do
        grep -qx -e "$option" "options_of_$verb" || continue
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
