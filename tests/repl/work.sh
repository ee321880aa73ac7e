# What happens while a model works: interrupts, typing ahead, suspension, crashes, long input, full contexts.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
toy slow llama chat=chatml layers=12 width=256 heads=16 kv_heads=16 context=100000
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8
export LONGLEAF_MODEL NO_COLOR LANG

terminal 80 24 longleaf chat -m slow -c 20000 --temp 0
waits '>' || :
type_text 'tell me everything'
keys Enter
holds_screen 'writing, ' "the status line tells how fast the model writes"
type_text 'typed ahead'
holds_screen '> typed ahead' "typing goes on while it does"
tmux resize-window -x 60 -y 24
holds_screen '> typed ahead' "and through a resize"
keys C-c
holds_screen '[stopped; the text so far is kept' "Ctrl-C stops the answer and keeps its text"
holds_screen '> typed ahead' "and the line being typed"
keys C-u
tmux resize-window -x 80 -y 24
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "w%d ", i }' > long.txt
tmux load-buffer long.txt
tmux paste-buffer -p
holds_screen 'tokens]' "a long line that is pasted is folded, too"
keys Enter
holds_screen 'reading the prompt' "the status line tells how much of a prompt is read"
keys C-c
holds_screen 'the message is taken back' "Ctrl-C stops the reading of a prompt"
type_text '/context'
keys Enter
holds_screen '2 messages' "and leaves the conversation as it was"
keys C-d
ended 0 "and the program well"

terminal 80 24 sh
waits '$' || waits '#' || :
type_text 'longleaf chat -n 0'
keys Enter
waits 'lists the commands' || :
type_text 'half a'
waits '> half a' || :
keys C-z
holds_screen 'topped' "Ctrl-Z suspends"
type_text 'fg'
keys Enter
sleep 1
type_text ' line'
holds_screen '> half a line' "fg comes back to the line that was being typed"

terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'words that must not be lost'
keys Enter
waits 'the most that was asked' || :
kill -9 "$(tmux display-message -p '#{pane_pid}')"
terminal 80 24 longleaf chat -n 0
holds_screen 'ended without being left' "a conversation that was killed is found"
type_text '/open last'
keys Enter
holds_screen '2 messages are back' "and comes back"
tmux kill-server
sleep 1
grep -qF 'words that must not be lost' "$HOME/.local/state/longleaf/history"
tap_case $? "a terminal that goes away leaves the history whole"

terminal 80 24 longleaf chat -n 4 --private
waits '>' || :
type_text 'a secret'
keys Enter
waits 'the most that was asked' || :
type_text '/quit'
keys Enter
ended 0 "a private conversation"
! grep -qF 'a secret' "$HOME/.local/state/longleaf/history"
tap_case $? "is not in the history"

terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text "/load $(printf 'no\033]0;owned\a')"
keys Enter
holds_screen 'No such file' "a hostile file name is refused"
terminal 80 24 longleaf chat -c 400 -n 30
waits '>' || :
for message in 'the first of many messages about lighthouses and whale oil' \
    'the second of many messages, which is about the keeper' 'the third of them, about the sea' \
    'the fourth of them, about ships' 'the fifth of them, about storms' 'the sixth of them' 'the seventh' 'the eighth'; do
    type_text "$message"
    keys Enter
done
holds_screen 'becomes a summary' "a conversation that outgrows its context is summarised, and says so"
tap_done
