# Where a setting comes from: built in < configuration file < environment < command line.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
config=$HOME/.config/longleaf/config
mkdir -p "$HOME/.config/longleaf"
origin() # NAME OPTION…: "value origin"
{
    name=$1
    shift
    longleaf info --config --json "$@" > settings.json && echo "$(at "$name.value" settings.json) $(at "$name.origin" settings.json)"
}

is "$(origin temp)" "0 built in" "without anything the built-in value holds"
printf '# a comment\n\ntemp = 0.5\nsystem = "Be brief. "\n' > "$config"
is "$(longleaf info --config --json | "$tests/json_at" temp.value)" "0.5" "the configuration file is read"
is "$(at temp.line settings.json 2> /dev/null || { origin temp > /dev/null; at temp.line settings.json; })" "3" "its line is known"
is "$(origin system)" "Be brief.  file" "quotes keep spaces"
LONGLEAF_TEMP=0.7
export LONGLEAF_TEMP
is "$(origin temp)" "0.7 environment" "the environment wins over the file"
LONGLEAF_TEMP=
is "$(origin temp)" "0.5 file" "an empty variable is none"
unset LONGLEAF_TEMP
LONGLEAF_TOP_K=40
export LONGLEAF_TOP_K
is "$(origin top-k)" "40 environment" "a dash is an underscore in a variable"
unset LONGLEAF_TOP_K
XDG_CONFIG_HOME=$tap_dir/elsewhere
export XDG_CONFIG_HOME
is "$(origin temp)" "0 built in" "XDG_CONFIG_HOME moves the file"
unset XDG_CONFIG_HOME

refuse_line() # LINE FRAGMENT NAME
{
    printf 'temp = 0.5\n%s\n' "$1" > "$config"
    longleaf info --config > out 2> err
    [ $? -eq 2 ] && grep -qF 'line 2' err && grep -qF -- "$2" err || cat out err > "$tap_note"
    [ ! -s "$tap_note" ]
    tap_case $? "$3"
}
refuse_line 'tmep = 1' 'did you mean temp?' "an unknown name is an error with its line and a suggestion"
refuse_line 'temp = warm' 'is not a number' "a wrong value is an error with its line"
refuse_line 'temp' 'key = value' "a line without = is an error"
refuse_line 'prompt = hello' 'belongs on the command line' "one piece of work does not belong into the file"
printf 'temp = 0.5\ntop-k = 1\000 2\n' > "$config"
refused 2 'line 2: holds a zero byte' "a file that is no text is an error with its line" longleaf info --config
printf '\357\273\277temp = 0.5\r\n' > "$config"
is "$(origin temp)" "0.5 file" "an editor's byte order mark and CR LF are no matter"
ln -sf /dev/zero "$config"
refused 2 'File too large' "an endless file is no configuration" longleaf info --config
rm "$config"
LONGLEAF_TEMP=warm longleaf info --config > out 2> err
[ $? -eq 2 ] && grep -q LONGLEAF_TEMP err
tap_case $? "a wrong variable is named"

# The command line wins: greedy text at temp 0 is the same with any seed, sampled text is not.
toy toy llama chat=none
LONGLEAF_MODEL=toy LONGLEAF_TEMP=5
export LONGLEAF_MODEL LONGLEAF_TEMP
a=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 1 --json | "$tests/json_at" tokens.5)
b=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 1 --json | "$tests/json_at" tokens.5)
is "$a" "$b" "a seed repeats a sampled text"
a=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 1 --temp 0)
b=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 2 --temp 0)
is "$a" "$b" "the command line's --temp 0 wins over the environment"
c=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 1)
d=$(longleaf run --raw -p x -n 12 --ignore-eos --seed 2)
[ "$c" != "$d" ]
tap_case $? "and without it the environment's temperature samples"
LONGLEAF_TEMPERATURE=0.7 longleaf run --raw -p x -n 1 > out 2> err
holds err "no setting is called LONGLEAF_TEMPERATURE" "a variable that means nothing is named"
is "$(grep -c LONGLEAF_ err)" 1 "once"
longleaf run --raw -p x -n 1 > out 2> err
is "$(grep -c LONGLEAF_ err)" 0 "those that are known are not"
tap_done
