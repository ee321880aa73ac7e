# Much of everything: a paste of 1 MiB, a conversation that outgrows its context, an answer without end, ALiBi's reach.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8
export LONGLEAF_MODEL NO_COLOR LANG

# The paste goes in as terminals send it, and /export tells whether a byte of it is lost.
awk 'BEGIN { for (i = 0; i < 26214; i++) printf "%05d the keeper lit the lamp and wrote it\n", i }' | head -c 1048576 > pasted
cat > keep.sh <<END_EDITOR
#!/bin/sh
cp "\$1" "$PWD/kept"
END_EDITOR
chmod +x keep.sh
EDITOR=$PWD/keep.sh terminal 80 24 longleaf chat -n 4 -c 2048 --no-log
waits '>' || :
tmux load-buffer pasted
tmux paste-buffer -p
holds_screen "> [$(grep -c '' pasted | sed 's/...$/,&/') lines, " "a paste of 1 MiB is one folded note"
keys C-x C-e
turn=0
until [ -s kept ] || [ $turn -gt 600 ]; do turn=$((turn + 1)); sleep 0.1; done
sleep 0.5
cat pasted > wanted
[ "$(tail -c 1 kept)" = "$(tail -c 1 pasted)" ] || echo >> wanted # editors want a newline at the end
cmp wanted kept > "$tap_note"
tap_case $? "and not a byte of it is lost on the way to the editor"
waits ' lines, ' || :
keys C-c
keys C-d
ended 0 "nor does the terminal suffer"

terminal 80 24 longleaf chat -c 400 -n 30 --no-log
waits '>' || :
number=0
for message in 'about lighthouses and whale oil' 'about the keeper' 'about the sea' 'about ships' 'about storms' \
    'about ice' 'about the harbour' 'about the fog' 'about the bell' 'about the gulls' 'about the rocks' 'about the boat'; do
    number=$((number + 1))
    type_text "/export json before.json"
    keys Enter
    type_text "message $number $message"
    keys Enter
    type_text "/export json turn$number.json"
    keys Enter
    turn=0
    until [ -s "turn$number.json" ] || [ $turn -gt 600 ]; do turn=$((turn + 1)); sleep 0.1; done
    ! screen | grep -qF 'become a summary' && ! screen | grep -qF 'becomes a summary' || break
done
holds_screen 'a summary' "a conversation that outgrows its context is summarised"
! cmp -s before.json "turn$number.json" && ! grep -qF '"message 1 about' "turn$number.json"
tap_case $? "after which its oldest message is gone from it"
type_text '/undo'
keys Enter
type_text '/export json undone.json'
keys Enter
turn=0
until [ -s undone.json ] || [ $turn -gt 300 ]; do turn=$((turn + 1)); sleep 0.1; done
cmp before.json undone.json > "$tap_note"
tap_case $? "and /undo takes the summary back with the turn, byte for byte"
type_text '/quit'
keys Enter
ended 0 "the conversation"

# One token whose score nothing reaches is said for ever.
token=$(echo ' the' | longleaf tokens --json | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
letter=$(echo 'x' | longleaf tokens --json | grep -o '"id": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')
for forced in "$token" "$letter"; do
    terminal 80 24 longleaf chat -n 30000 -c 40000 --logit-bias "$forced=10000" --no-log
    waits '>' || :
    type_text 'go on'
    keys Enter
    holds_screen 'went in a circle and was ended' "an answer that says token $forced for ever is ended"
    keys C-d
    ended 0 "and the conversation goes on"
done
terminal 80 24 longleaf chat -n 900 --logit-bias "$token=10000" --no-loop-guard --no-log
waits '>' || :
type_text 'go on'
keys Enter
holds_screen '[900 tokens, the most that was asked' "unless that was wished for"
keys C-d
ended 0 "to its end"

toy far mpt chat=chatml
terminal 160 24 longleaf chat -m far -n 8 --temp 0 --no-log
waits '>' || :
lacks_screen 'ALiBi reach' "before anything was computed no reach is told"
type_text 'how far do you see'
keys Enter
holds_screen 'ALiBi reach ' "afterwards the status tells what the backend counted"
reach=$(screen | sed -n 's/.*ALiBi reach \([0-9]*\).*/\1/p' | tail -n 1)
type_text '/memory'
keys Enter
holds_screen "looked back $reach token" "which is what /memory says, too"
keys C-d
ended 0 "and out"
tap_done
