# Memory given back: /memory trim, a model that rests when nothing is asked, a model file cut under the program.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8
export LONGLEAF_MODEL NO_COLOR LANG

printf 'one\n\ntwo\n' > plain
printf 'one\n/memory trim\ntwo\n' > trimmed
ends 0 "a conversation" sh -c "longleaf chat -n 6 --no-log < plain"
grep -v '^$' out > wanted
ends 0 "the same with its memory given back in between" sh -c "longleaf chat -n 6 --no-log < trimmed"
holds out "given back: " "says what came of it"
grep -v -e '^$' -e '^given back' -e '^resident:' -e 'reads the weights again' out > got
[ -s wanted ] && cmp -s wanted got || diff wanted got > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "and answers with the same bytes"
echo '/memory json' | longleaf chat --no-log > account.json 2> err
is "$(at session.capacity account.json)" 2048 "/memory json is an account for programs"
echo '/memory prometheus' | longleaf chat --no-log > account 2> err
holds account 'longleaf_kv_blocks{state="free"}' "and /memory prometheus one for a scraper"
echo '/memory trimm' > line
ends 2 "an unknown word is refused" sh -c "longleaf chat --no-log < line"
holds err "trim, json, prometheus" "with those that are known"

terminal 80 24 longleaf chat -n 0 --idle 0.01
holds_screen 'memory is given back' "a model that nobody asks anything gives its memory back"
type_text 'the lighthouse'
keys Enter
holds_screen 'the most that was asked' "and comes back with the next message"
keys C-d
ended 0 "nothing else changes"
terminal 80 24 longleaf chat -n 0 --idle 0
waits '>' || :
sleep 1
lacks_screen 'given back' "--idle 0 lets it stay"
keys C-d
ended 0 "to the end"

cp "$LONGLEAF_MODELS/toy.gguf" cut.gguf
mkfifo lines
longleaf chat -m ./cut.gguf -n 4 --no-log < lines > out 2> err &
chat=$!
exec 9> lines
echo 'one' >&9
turn=0
until [ -s out ] || [ $turn -gt 300 ]; do
    turn=$((turn + 1))
    sleep 0.1
done
: > cut.gguf
echo 'two' >&9
exec 9>&-
wait "$chat"
is $? 5 "a model file cut under the program ends the message with the model's exit code"
holds err "cut" "and a sentence"
tap_done
