# A real terminal for tests of whole screens: tmux, typed into and read as text.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
command -v tmux > /dev/null || tap_skip_all "tmux is not installed"
tmux() # on a server of the test's own, without anybody's configuration
{
    command tmux -S "$tap_dir/tmux" -f /dev/null "$@"
}
trap 'tmux kill-server 2> /dev/null; rm -rf "$tap_dir"' EXIT
terminal() # COLUMNS ROWS COMMAND…: the command in a fresh terminal
{
    tmux kill-server 2> /dev/null
    columns=$1 rows=$2 turn=0
    shift 2
    # A server that is going away refuses a new session for a moment.
    until tmux new-session -d -x "$columns" -y "$rows" "$@" \; set -g status off \; set -g remain-on-exit on 2> /dev/null; do
        turn=$((turn + 1))
        [ $turn -lt 50 ] || tap_skip_all "tmux does not start here"
        sleep 0.2
    done
}
keys() # as tmux names them, or words
{
    tmux send-keys "$@"
}
type_text() # TEXT exactly as it is
{
    tmux send-keys -l -- "$1"
}
screen() # what stands there now, without blank rows at the end
{
    tmux capture-pane -p | sed -e 's/ *$//' | awk '{ row[NR] = $0; if ($0 != "") last = NR } END { for (i = 1; i <= last; i++) print row[i] }'
}
# Speeds, sizes of this machine and of the program are not the same twice.
steady()
{
    sed -E 's/[0-9.]+ [KMGT]iB\/[0-9.]+ [KMGT]iB/SIZE/; s/[0-9.]+ tokens\/s/RATE/; s/[0-9.]+ (s|min [0-9]+ s) left/TIME left/; s/, (weights|cache|scratch) [0-9.]+ [KMG]?i?B//g'
}
# waits TEXT: until the screen holds it, a minute at most.
waits()
{
    turn=0
    while ! screen | grep -qF -- "$1"; do
        turn=$((turn + 1))
        [ $turn -lt 600 ] || return 1
        sleep 0.1
    done
}
# shows NAME: the whole screen is what standard input holds, a minute at most.
shows()
{
    cat > wanted
    turn=0
    while :; do
        screen | steady > seen
        if cmp -s wanted seen; then
            tap_case 0 "$1"
            return
        fi
        turn=$((turn + 1))
        [ $turn -lt 300 ] || break
        sleep 0.1
    done
    diff wanted seen > "$tap_note"
    tap_case 1 "$1"
}
holds_screen() # TEXT NAME
{
    waits "$1" || { echo "the screen lacks: $1"; screen; } > "$tap_note"
    [ ! -s "$tap_note" ]
    tap_case $? "$2"
}
lacks_screen() # TEXT NAME
{
    screen | grep -F -- "$1" > "$tap_note"
    [ ! -s "$tap_note" ]
    tap_case $? "$2"
}
ended() # CODE NAME: the command ends so
{
    turn=0
    # The terminal closes a moment before its command's status is known.
    while [ -z "$(tmux display-message -p '#{pane_dead_status}#{pane_dead_signal}')" ] && [ $turn -lt 600 ]; do
        turn=$((turn + 1))
        sleep 0.1
        # tmux can miss that a command has ended, which then stays a zombie; told again, it looks.
        [ $((turn % 10)) -ne 0 ] || kill -CHLD "$(tmux display-message -p '#{pid}')"
    done
    is "$(tmux display-message -p '#{pane_dead_status}#{?pane_dead_signal, signal ,}#{pane_dead_signal}')" "$1" "$2"
}
