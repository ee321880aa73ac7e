# Undo, retry, marks and files give the bytes that a fresh run gives, and nothing is computed twice.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy
export LONGLEAF_MODEL
talk() # lines of a conversation; its answers are in out, its errors in err
{
    longleaf chat -n 12 > out 2> err
    got=$?
    [ $got -eq 0 ] || { echo "ended with $got"; cat out err; } > "$tap_note"
    return $got
}
printf '%s\n' 'one' 'three' '/export json fresh.json' | talk
tap_case $? "a conversation in one go"
printf '%s\n' 'one' 'two' '/undo' 'three' '/export json undone.json' | talk
cmp fresh.json undone.json > "$tap_note"
tap_case $? "undo leaves no trace in what follows"
printf '%s\n' 'one' '/mark fork' 'two' '/back fork' 'three' '/export json branched.json' | talk
cmp fresh.json branched.json > "$tap_note"
tap_case $? "a branch from a mark is like a fresh run"
printf '%s\n' 'one' 'three' '/retry' '/export json retried.json' | talk
cmp fresh.json retried.json > "$tap_note"
tap_case $? "without temperature a retry gives the same bytes"
printf '%s\n' 'one' 'wrong' '/edit three' '/export json edited.json' | talk
cmp fresh.json edited.json > "$tap_note"
tap_case $? "an edited message is asked as if it had stood there from the start"
printf '%s\n' 'one' '/params max-tokens 4' 'three' '/params max-tokens 8' '/continue' '/export json continued.json' | talk
at 3.content continued.json > continued
at 3.content fresh.json > whole
cmp whole continued > "$tap_note"
tap_case $? "an answer that was cut and continued is the whole answer"
printf '%s\n' 'one' '/save session.bin' | talk
printf '%s\n' '/open session.bin' 'three' '/kv' '/export json opened.json' | talk
cmp fresh.json opened.json > "$tap_note"
tap_case $? "a conversation opened from a file goes on as if it had never ended"
read_tokens=$(sed -n 's/^computed *\([0-9]*\) tokens read.*/\1/p' out)
printf '%s\n' 'one' 'three' '/kv' | talk
fresh_tokens=$(sed -n 's/^computed *\([0-9]*\) tokens read.*/\1/p' out)
[ -n "$read_tokens" ] && [ "$read_tokens" -lt "$fresh_tokens" ]
tap_case $? "and computes only what is new ($read_tokens of $fresh_tokens tokens)"
is "$(stat -c %a session.bin)" 600 "the file is private"
toy other llama chat=chatml seed=9
printf '%s\n' '/open session.bin' | longleaf chat -m other > out 2> err
is $? 1 "another model refuses it"
holds err 'saved with another model' "in a sentence"
head -c 3000 session.bin > cut.bin
printf '%s\n' '/open cut.bin' | longleaf chat > out 2> err
is $? 1 "a file cut short is refused"
holds err 'cut.bin' "by its name"
printf '%s\n' 'one' '/export md page.md' '/export html page.html' '/export pdf page.pdf' | longleaf chat -n 4 > out 2> err
is $? 2 "a form that there is not is refused"
grep -q '^## You' page.md && grep -q '</html>' page.html
tap_case $? "pages of the others are written"
printf '%s\n' '/undo' | longleaf chat > out 2> err
holds err 'nothing to take back' "an empty conversation has nothing to undo"
printf '%s\n' 'one' '/prompt two' '/why 3' '/mark' '/system be brief' '/system' '/model' '/memory' '/params' '/docs' '/help why' | talk
tap_case $? "the commands that show something"
holds out 'order              greatest' "the order of sampling is shown"
holds out '<|im_start|>user' "the prompt is shown with its control tokens"
holds out ' among ' "alternatives of tokens are shown"
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "Keeper %d lit the lamp in %d. ", i, 1800 + i % 100; print "" }' > big.txt
longleaf chat -c 2048 -n 4 < big.txt > out 2> err
holds err 'it is attached as “pasted text 1”' "a message longer than the context becomes a document"

# What a link leads to is replaced, and the link stays.
mkdir elsewhere
: > elsewhere/session.bin
ln -s elsewhere/session.bin linked.bin
printf '%s\n' 'one' '/save linked.bin' | talk
[ -L linked.bin ] && [ -s elsewhere/session.bin ]
tap_case $? "a conversation is saved through a link"
: > elsewhere/small.gguf
ln -s elsewhere/small.gguf small.gguf
longleaf quantize "$LONGLEAF_MODELS/toy.gguf" small.gguf F16 > out 2> err
[ -L small.gguf ] && [ -s elsewhere/small.gguf ]
tap_case $? "and a model is"
ln -s elsewhere/nothing nowhere.bin
printf '%s\n' 'one' '/save nowhere.bin' | longleaf chat -n 4 > out 2> err
holds err 'leads to nothing' "a link to nothing is named"
[ -L nowhere.bin ] && [ ! -e elsewhere/nothing ]
tap_case $? "and left as it is"

echo 'plain text' > trial.md
longleaf info trial.md > out 2> err
is "$(grep -o 'trial.md' err | wc -l)" 1 "a file is named once in what is wrong with it"
echo 'The lamp of Cape Orrin was lit in 1874.' > lamp.txt
echo 'The keeper of Port Salt was Ada Brandt.' > keeper.txt
printf '%s\n' '/load lamp.txt' '/load keeper.txt' '/ask Who was the keeper of Port Salt?' | longleaf chat > out 2> err
longleaf ask -q 'Who was the keeper of Port Salt?' lamp.txt keeper.txt > asked 2> err
cmp asked out > "$tap_note"
tap_case $? "/ask asks all documents together, as the verb does"
printf '%s\n' 'one' '/context' '/undo' '/context' | longleaf chat -n 4 > out 2> err
grep -q '^0 of 2,048 tokens' out && grep -q ' 0 messages' out
tap_case $? "after an undo the context is told of as it stands"
mkdir -p "$HOME/kept"
cp lamp.txt "$HOME/kept/lamp two.txt"
printf '%s\n' '/load lamp.txt "keeper.txt"' '/load ~/kept/lamp two.txt' '/load lam*.txt' '/docs' '/load no such file' |
    longleaf chat > out 2> err
is "$(grep -c '^[^:]*\(lamp\|keeper\)[^:]*: text, ' out)" 4 "several files are attached at once, by quotes, patterns and ~"
holds err 'no such file: No such file' "and a name that is none is said whole"
printf '%s\n' '/load lamp.txt' '/params temp 0.5' '/params' | longleaf chat > out 2> err
grep -q '^temp  *0.5 ' out
tap_case $? "a parameter changed is listed so"
printf '%s\n' 'one' '/mark here' '/mark' '/dash' | talk
holds out 'here: after 2 messages' "marks are listed"
holds out 'longleaf chat, process' "where there is no screen /dash says it in words"
tap_done
