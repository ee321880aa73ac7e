# Keys of vi, history of several lines and its privacy, and ends that nobody asked for.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
toy slow llama chat=chatml layers=12 width=256 heads=16 kv_heads=16 context=100000
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8
export LONGLEAF_MODEL NO_COLOR LANG
state=$HOME/.local/state/longleaf
mkdir -p "$HOME/.config/longleaf"

echo 'keys = vi' > "$HOME/.config/longleaf/config"
terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'one two three'
holds_screen '> one two three' "with vi's keys in the configuration a line begins as text"
keys Escape
sleep 0.7 # a lone escape is told from a sequence by what follows at once
type_text 'bbdwx'
holds_screen '> one hree' "escape goes to commands: words back, a word and a character taken out"
type_text '0iA '
holds_screen '> A one hree' "and i to text again"
keys Enter
holds_screen 'the most that was asked' "Enter sends it"
keys Escape
sleep 0.7
type_text 'kA!'
holds_screen '> A one hree!' "k brings back the message before"
keys C-c
type_text 'new'
keys Up
holds_screen '> A one hree' "and the arrow key does while text is typed"
keys C-u
keys C-c
keys C-d
ended 0 "and Ctrl-D leaves"
terminal 80 24 longleaf chat -n 0 --keys emacs
waits '>' || :
type_text 'one two'
keys C-a
type_text 'zero '
holds_screen '> zero one two' "the command line goes before the configuration"
keys C-c
keys C-d
ended 0 "with the other keys"
rm "$HOME/.config/longleaf/config"

terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'first line\'
keys Enter
type_text 'second \ line'
keys Enter
holds_screen 'the most that was asked' "a message of two lines"
keys C-d
ended 0 "and out"
is "$(stat -c %a "$state/history")" 600 "the history is private"
is "$(stat -c %a "$state")" 700 "and so is its folder"
is "$(tail -n 1 "$state/history")" 'first line\nsecond \\ line' "it has the message as one entry"
terminal 80 24 longleaf chat -n 0
waits '>' || :
keys Up
holds_screen '> first line' "another conversation brings it back whole"
holds_screen 'second \ line' "with both lines"
keys Enter
waits 'the most that was asked' || :
type_text '/export json back.json'
keys Enter
turn=0
until [ -s back.json ] || [ $turn -gt 300 ]; do turn=$((turn + 1)); sleep 0.1; done
is "$(at 0.content back.json)" 'first line
second \ line' "and sends it as it was"
keys C-d
ended 0 "and out again"
before=$(cksum < "$state/history")
terminal 80 24 longleaf chat -n 0 --private
waits '>' || :
keys Up
type_text 'mine alone'
holds_screen '> mine alone' "a private conversation does not read the history"
keys Enter
waits 'the most that was asked' || :
is "$(find "$state" -name 'conversation-*')" '' "keeps no copy against a crash"
keys C-d
ended 0 "leaves"
is "$(cksum < "$state/history")" "$before" "and does not write to it"

for signal in TERM:143 HUP:129; do
    name=SIG${signal%:*}
    terminal 80 24 longleaf chat -m slow -c 20000 -n 100000 --temp 0
    waits '>' || :
    type_text "words before $name"
    keys Enter
    waits 'writing, ' || :
    kill -"${signal%:*}" "$(tmux display-message -p '#{pane_pid}')"
    ended "${signal#*:}" "$name while the model writes ends the program with ${signal#*:}"
    is "$(tail -n 1 "$state/history")" "words before $name" "the history has what was typed"
    terminal 80 24 longleaf chat -m slow -c 20000 -n 0
    holds_screen 'ended without being left' "the next one finds the conversation"
    type_text '/open last'
    keys Enter
    holds_screen '2 messages are back' "with the message and the part of its answer"
    type_text 'half a line'
    waits '> half a line' || :
    kill -"${signal%:*}" "$(tmux display-message -p '#{pane_pid}')"
    ended "${signal#*:}" "$name at the prompt ends it with ${signal#*:}"
    # What was opened is kept again; left well, it is gone.
    terminal 80 24 longleaf chat -n 0
    waits '/open last' || :
    type_text '/open last'
    keys Enter
    holds_screen '2 messages are back' "and the conversation is safe there, too"
    type_text '/quit'
    keys Enter
    ended 0 "/quit leaves"
    is "$(find "$state" -name 'conversation-*')" '' "after which nothing lies about"
done
tap_done
