# What every test of the program needs: longleaf in a home of its own, and toy models.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
tests=$top_builddir/tests/program
mkdir "$tap_dir/home" "$tap_dir/models" "$tap_dir/folder"
HOME=$tap_dir/home LONGLEAF_MODELS=$tap_dir/models TERM=xterm-256color
export HOME LONGLEAF_MODELS TERM
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME NO_COLOR LONGLEAF_MODEL LONGLEAF_PASSWORD
# Past libtool's wrapper script, which takes longer than most of what is tried here.
if [ -x "$top_builddir/.libs/longleaf" ]; then
    PATH=$top_builddir/.libs:$PATH
    LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
PATH=$PATH:$top_builddir
cd "$tap_dir/folder" || exit 99
toy() # NAME ARCHITECTURE [name=value …]: a toy model in the models folder
{
    name=$1 architecture=$2
    shift 2
    "$top_builddir/tests/toy/make_toy" "$architecture" "$LONGLEAF_MODELS/$name.gguf" "$@" || exit 99
}
# ends CODE NAME COMMAND…: the command ends with this code; its output is in out, its errors in err.
ends()
{
    wanted=$1 name=$2
    shift 2
    "$@" > out 2> err < /dev/null
    got=$?
    [ $got -eq "$wanted" ] || { echo "ended with $got, not $wanted: $*"; cat out err; } > "$tap_note"
    [ $got -eq "$wanted" ]
    tap_case $? "$name"
}
# One sentence on standard error, and nothing of an answer on standard output.
refused() # CODE FRAGMENT NAME COMMAND…
{
    wanted=$1 fragment=$2 name=$3
    shift 3
    "$@" > out 2> err < /dev/null
    got=$?
    if [ $got -eq "$wanted" ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -qF -- "$fragment" err; then
        tap_case 0 "$name"
    else
        { echo "ended with $got, not $wanted, or without one sentence that holds: $fragment"; head -c 2000 out err; } > "$tap_note"
        tap_case 1 "$name"
    fi
}
# holds FILE FRAGMENT NAME
holds()
{
    grep -qF -- "$2" "$1" || { echo "lacks: $2"; head -c 4000 "$1"; } > "$tap_note"
    [ ! -s "$tap_note" ]
    tap_case $? "$3"
}
is() # GOT WANTED NAME
{
    [ "$1" = "$2" ] || printf 'got    %s\nwanted %s\n' "$1" "$2" > "$tap_note"
    [ "$1" = "$2" ]
    tap_case $? "$3"
}
at() # PATH FILE: a value of a JSON file
{
    "$tests/json_at" "$1" < "$2"
}
