# The program on a terminal: editing, history, paste, Ctrl-C, resize, hostile text, dumb terminals.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy NO_COLOR=1
export LONGLEAF_MODEL NO_COLOR
esc=$(printf '\033')
drive() # CODE NAME COMMAND…; the script comes on standard input, the screen's bytes go to screen
{
    wanted=$1 name=$2
    shift 2
    cat > script
    "$tests/pty" script screen "$@" 2> err
    got=$?
    [ $got -eq "$wanted" ] || { echo "ended with $got, not $wanted"; cat err; tail -c 3000 screen | cat -v; } > "$tap_note"
    [ $got -eq "$wanted" ]
    tap_case $? "$name"
}

drive 0 "a conversation on a terminal" longleaf chat -n 6 <<'END'
expect >\x20
send hello there\r
expect >\x20
send /context\r
expect messages
expect >\x20
send /quit\r
end
END
is "$(stat -c %a "$HOME/.local/state/longleaf/history")" 600 "the history is private"
is "$(head -n 1 "$HOME/.local/state/longleaf/history")" "hello there" "and holds what was typed"
drive 0 "an arrow key brings back the line of an earlier conversation" longleaf chat -n 2 <<'END'
expect >\x20
send \e[A\e[A\e[A
expect hello there
send \x15/quit\r
end
END
drive 0 "Ctrl-D leaves" longleaf chat <<'END'
expect >\x20
send \x04
end
END
drive 130 "Ctrl-C twice at the empty prompt leaves" longleaf chat <<'END'
expect >\x20
send \x03
expect again leaves
expect >\x20
send \x03
end
END
drive 0 "Ctrl-C drops a typed line, and the arrow key brings it back" longleaf chat <<'END'
expect >\x20
send precious words
expect precious words
send \x03
expect >\x20
send \e[A
expect precious words
send \x15/quit\r
end
END
# Greedy, so that no chance ends the answer before it is stopped; slow, so that there is time to stop it.
toy slow llama chat=chatml layers=12 width=256 heads=16 kv_heads=16 context=100000
drive 0 "Ctrl-C stops an answer, keeps the conversation and its text" \
    longleaf chat -m slow -c 20000 -n 19000 --temp 0 <<'END'
expect >\x20
send tell me everything\r
expect writing,
send \x03
expect [stopped
expect >\x20
send /context\r
expect messages
send /quit\r
end
END
drive 130 "Ctrl-C during the answer of run" longleaf run -c 4000 -n 3900 --ignore-eos -p 'go on' <<'END'
output
send \x03
end
END
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "word%d ", i }' > long.txt
toy slow llama chat=chatml layers=12 width=256 heads=16 kv_heads=16
drive 130 "Ctrl-C while run reads its prompt" longleaf run -m slow -c 1000000 -f long.txt <<'END'
expect reading the prompt
send \x03
end
END
drive 0 "a paste of one MiB is one message" longleaf chat -c 200 <<'END'
expect >\x20
paste 1048576
expect tokens]
send \r
expect pasted text 1
send /docs\r
expect too long
send /quit\r
end
END
is "$(grep -c 'the context holds 200' screen)" 1 "attached once, as one document"
! grep -q 'line 40 of the paste' screen
tap_case $? "and nothing of it lands at a later prompt"
drive 0 "several lines pasted are one message" longleaf chat -n 4 <<'END'
expect >\x20
send \e[200~first line\rsecond line\e[201~
expect [2 lines,\x20
send \r
expect >\x20
send /context\r
expect 2 messages
send /quit\r
end
END
drive 0 "keys typed while the model answers wait for the next prompt" longleaf chat -n 40 <<'END'
expect >\x20
send hello\r/context\r/quit\r
expect messages
end
END
drive 0 "wide characters are edited as characters" longleaf chat -n 2 <<'END'
expect >\x20
send 日本語é\x7f\x7f\r
expect >\x20
send \e[A
expect 日本
send \x15/quit\r
end
END
drive 0 "a resized terminal" longleaf chat -n 4 <<'END'
expect >\x20
send some words that are typed
resize 20 10
send  and more of them
resize 100 30
send \r
expect >\x20
send /quit\r
end
END
drive 0 "fences hold several lines, with an empty prompt between" longleaf chat -n 4 <<'END'
expect >\x20
send """\r
send one\r
send """\r
expect >\x20
send /context\r
expect 2 messages
send /quit\r
end
END
drive 0 "a plain conversation" longleaf chat -n 4 --plain <<'END'
expect >\x20
send hello\r
expect >\x20
send /quit\r
end
END
! grep -q "$esc" screen
tap_case $? "sends no escape sequences"
TERM=dumb drive 0 "a dumb terminal" longleaf chat -n 4 <<'END'
expect >\x20
send hello\r
expect >\x20
send /quit\r
end
END
! grep -q "$esc" screen
tap_case $? "gets no escape sequences"
drive 0 "a terminal without colours" longleaf chat -n 4 <<'END'
expect >\x20
send /quit\r
end
END
! grep -q "$esc\[[0-9;]*m" screen
tap_case $? "NO_COLOR switches colours off"
unset NO_COLOR
drive 0 "a terminal with colours" longleaf chat -n 4 <<'END'
expect >\e[0m\x20
send /quit\r
end
END
grep -q "$esc\[1m>$esc\[0m " screen
tap_case $? "shows the prompt in bold, and nothing else"
NO_COLOR=1
export NO_COLOR

# ---- hostile text is shown, not obeyed ----
printf 'a \033]52;c;ZXZpbA==\a b\r\xe2\x80\xaec\xc2\x9bd' > hostile.txt
drive 0 "a document's escapes on a terminal" longleaf text hostile.txt <<'END'
end
END
! grep -q "$esc\]52" screen && ! grep -q "$(printf '\342\200\256')" screen
tap_case $? "are shown, not obeyed"
drive 6 "a hostile file name in a message" longleaf text "$(printf 'x\033]0;owned\a')" <<'END'
end
END
! grep -q "$esc\]0" screen
tap_case $? "is shown, not obeyed"
cat > outer.sh <<'END'
stty -a > before
longleaf chat
stty -a > after
END
drive 0 "the terminal" sh outer.sh <<'END'
expect >\x20
send hello\r
expect >\x20
send /quit\r
end
END
diff before after > "$tap_note"
tap_case $? "is left as it was found"
tap_done
