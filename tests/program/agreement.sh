# The table of options, --help, the manual and the completion script say the same.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
page=$top_srcdir/docs/longleaf.1

sh "$top_srcdir/repl/update-docs.sh" "$(command -v longleaf)" "$top_srcdir" "$PWD/fresh" > "$tap_note" 2>&1
tap_case $? "manual pages and completion scripts can be written anew"
(cd fresh && find . -type f | sort) > pages
[ "$(grep -c 'docs/verbs/longleaf-.*\.1$' pages)" -ge 15 ]
tap_case $? "there is a page for each verb"
while read -r file; do
    diff "$top_srcdir/$file" "fresh/$file" > "$tap_note"
    tap_case $? "${file#./} is what the program says (make update-docs writes it)"
done < pages
ls "$top_srcdir/docs/verbs" | sed 's/^/.\/docs\/verbs\//' > in_tree
grep '^\./docs/verbs/' pages | diff in_tree - > "$tap_note"
tap_case $? "and there is no page for a verb that there is not"
cp "$top_srcdir/repl/completion/longleaf" completion
names_in() # FILE: the long options that a --help lists
{
    grep -o '^ *\(-., \)\{0,1\} *--[a-z-]*' "$1" | grep -o -e '--[a-z-]*' | sort
}
verbs='chat sum ask cache run text tokens info plan ppl bench models log top quantize convert check help'
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
    mandoc -Tlint "$page" "$top_srcdir/docs/longleaf.conf.5" "$top_srcdir"/docs/verbs/*.1 > "$tap_note" 2>&1
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
if command -v zsh > /dev/null; then
    zsh -n "$top_srcdir/repl/completion/_longleaf" > "$tap_note" 2>&1
    tap_case $? "zsh can read its completion script"
    is "$(zsh -fc 'compdef() { echo "$@"; }; source "$1"' zsh "$top_srcdir/repl/completion/_longleaf" 2>&1)" \
        "_longleaf longleaf" "sourced, zsh's script says what it completes"
else
    tap_skip "zsh can read its completion script" "zsh is not installed"
    tap_skip "sourced, zsh's script says what it completes" "zsh is not installed"
fi
if command -v fish > /dev/null; then
    cat > try.fish <<'END'
source $argv[1]
complete -C 'longleaf sum --met'
complete -C 'longleaf sum --method sel'
complete -C 'longleaf tex'
complete -C 'longleaf help ke'
END
    is "$(HOME=$PWD fish --no-config try.fish "$top_srcdir/repl/completion/longleaf.fish" | cut -f 1 | tr '\n' ' ')" \
        "--method select text keys " "fish completes verbs, options and their values"
else
    tap_skip "fish completes verbs, options and their values" "fish is not installed"
fi
for topic in options commands keys config environment exit; do
    longleaf help $topic > out 2> err
    [ -s out ] && [ ! -s err ]
    tap_case $? "help tells of $topic"
done
longleaf help kyes > out 2> err
is $? 2 "an unknown topic is refused"
holds err 'did you mean keys?' "and a near one named"
longleaf help config > out
longleaf info --config > settings
sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' out | while read -r name; do
    grep -q "^$name " settings || echo "$name is in no list of settings"
done > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "what may stand in the configuration file is a setting"
tap_done
