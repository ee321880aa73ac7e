# Whole screens of a conversation, compared as text: typing, wide characters, paste, resize, completion, help.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8
export LONGLEAF_MODEL NO_COLOR LANG
top_srcdir_absolute=$(cd "$top_srcdir" && pwd)

terminal 80 24 longleaf chat -n 0
shows "a conversation begins with the model, the status and the prompt" <<'END_SCREEN'
toy, 2,048 tokens of context; /help lists the commands
toy · context 0/2,048 0.0 % · RAM SIZE
>
END_SCREEN
type_text '日本語 is three wide characters'
keys Home Right Right BSpace
type_text 'é'
shows "wide characters are edited in their right columns" <<'END_SCREEN'
toy, 2,048 tokens of context; /help lists the commands
toy · context 0/2,048 0.0 % · RAM SIZE
> 日é語 is three wide characters
END_SCREEN
keys C-c
shows "Ctrl-C at the prompt clears the line" <<'END_SCREEN'
toy, 2,048 tokens of context; /help lists the commands
toy · context 0/2,048 0.0 % · RAM SIZE
>
END_SCREEN
keys Up
holds_screen '> 日é語 is three wide characters' "and the arrow key brings it back"
keys C-u

type_text '/loa'
keys Tab
holds_screen '> /load' "Tab completes a command"
echo 'A lighthouse burned whale oil.' > 'a file with spaces.txt'
type_text 'a f'
keys Tab
holds_screen '> /load a file with spaces.txt' "and the name of a file, with its spaces"
keys Enter
holds_screen 'a file with spaces.txt is attached' "which is read"
type_text '/params te'
keys Tab
holds_screen '> /params temp' "and parameters"
keys C-u
type_text '/laod x'
keys Enter
holds_screen 'there is no command /laod; did you mean /load?' "a near miss is named"

terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'a line that is longer than what the terminal will soon be wide'
tmux resize-window -x 50 -y 24
holds_screen '> a line that is longer than what the terminal wil' "a narrower terminal breaks the line that is typed"
holds_screen 'toy · context 0/2,048 0.0 %' "and shortens the status"
keys C-u
tmux resize-window -x 60 -y 24
printf 'first line of many\nsecond line\n\033[31mthird\n' > pasted
tmux load-buffer pasted
tmux paste-buffer -p
holds_screen '> [3 lines, ' "a paste of several lines is one folded note"
type_text ' what is this'
keys Left Left
lacks_screen 'second line' "and does not spill into the screen"
keys C-a C-k
printf 'kept whole' > pasted
tmux load-buffer pasted
tmux paste-buffer -p
holds_screen '> kept whole' "a short paste stands as it is"
terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'one \'
keys Enter
type_text 'two'
keys Enter
waits 'two' || :
type_text '/undo'
keys Enter
shows "a backslash at a line's end goes on in a new line, and undo takes all of it back" <<'END_SCREEN'
toy, 2,048 tokens of context; /help lists the commands

> one
  two
[0 tokens, the most that was asked for; /continue goes on]

> /undo
taken back; the conversation is empty
toy · context 0/2,048 0.0 % · RAM SIZE
>
END_SCREEN
keys C-d
ended 0 "Ctrl-D leaves"

terminal 80 24 longleaf chat -n 0
waits '>' || :
type_text 'the lighthouse keeper'
keys Enter
waits 'the most that was asked' || :
keys C-r
type_text 'keep'
holds_screen 'the lighthouse keeper' "Ctrl-R searches what was typed before"
keys Enter
cat > editor.sh <<'END_EDITOR'
#!/bin/sh
printf 'written in\nthe editor\n' > "$1"
END_EDITOR
chmod +x editor.sh
waits 'the most that was asked' || :
type_text '/quit'
keys Enter
ended 0 "and /quit leaves"
EDITOR=$PWD/editor.sh terminal 80 24 longleaf chat -n 0
waits '>' || :
keys C-x C-e
holds_screen 'the editor' "Ctrl-X Ctrl-E takes the message from the editor"
keys C-u C-k C-c
keys C-c
sleep 0.5
keys C-c
ended 130 "Ctrl-C twice at the empty prompt leaves with 130"

if command -v zsh > /dev/null; then
    terminal 100 24 zsh -f
    type_text "fpath=($top_srcdir_absolute/repl/completion \$fpath); autoload -Uz compinit; compinit -u -D; PS1='ready '"
    keys Enter
    waits 'ready ' || :
    type_text 'longleaf sum --meth'
    keys Tab
    holds_screen 'longleaf sum --method=' "zsh completes an option"
    type_text 'ext'
    keys Tab
    holds_screen '--method=extractive' "and its value"
    keys C-u
    type_text 'longleaf toke'
    keys Tab
    holds_screen 'longleaf tokens' "and a verb"
else
    tap_skip "zsh completes an option, its value and a verb" "zsh is not installed"
fi
tap_done
