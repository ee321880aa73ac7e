# Writes docs/tour.md: screens of a conversation as text, from a terminal that was really used (tmux).
# SPDX-License-Identifier: Apache-2.0
# usage: tour.sh LONGLEAF > tour.md
set -eu
longleaf=$1
folder=$(mktemp -d)
tmux() { command tmux -S "$folder/tmux" -f /dev/null "$@"; }
trap 'tmux kill-server 2> /dev/null || :; rm -rf "$folder"' EXIT
export XDG_STATE_HOME="$folder" LANG=C.UTF-8 NO_COLOR=1
cat > "$folder/keeper.txt" <<'END_TEXT'
The lighthouse at Cape Orrin was lit in 1874. Its keeper, Ada Brandt, carried whale oil up 112 steps every
evening. In 1902 the lamp was changed to paraffin, and in 1931 to electricity. The last keeper left in 1969.
END_TEXT
cd "$folder"
screen() # COLUMNS ROWS LINE…: each line is typed, and waited for
{
    columns=$1 rows=$2
    shift 2
    until tmux new-session -d -x "$columns" -y "$rows" "$longleaf" chat -n 60 \; set -g status off 2> /dev/null; do sleep 0.3; done
    sleep 3
    for line; do
        tmux send-keys -l "$line"
        tmux send-keys Enter
        sleep 1
        turn=0 # the status line begins so while nothing is worked on
        until tmux capture-pane -p | grep -q '^SmolLM2.*· context\|^context' || [ $turn -gt 120 ]; do
            turn=$((turn + 1))
            sleep 0.5
        done
    done
    printf '\n## %s columns, %s rows\n\n```text\n' "$columns" "$rows"
    tmux capture-pane -p | sed 's/ *$//' | awk '$0 == "" { blank++; next } { for (; blank; blank--) print ""; print }'
    printf '```\n'
    tmux kill-server
    # What a conversation that was cut off leaves; it may still be writing that.
    sleep 1
    until rm -rf "$folder/longleaf" 2> /dev/null; do sleep 0.3; done
}
cat <<'END_TEXT'
# A tour of the terminal

Screens of `longleaf chat` with the default model, as they stood on terminals of three sizes; `docs/tour.sh` typed and
copied them. The model is small: what it says is not always true, and this page leaves it as it is.
END_TEXT
screen 80 24 '/load keeper.txt' 'When was the lamp changed to electricity?' '/cite 1' '/undo'
screen 40 10 'Name two rivers.'
screen 200 60 '/load keeper.txt' 'When was it lit?' '/sum' '/cite 1' '/why 4' '/kv'
