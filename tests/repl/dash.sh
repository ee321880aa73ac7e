# The dashboard and top: what running programs show of themselves, on a screen, as text and as JSON.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/repl/tmux.sh"
toy toy llama chat=chatml
toy slow llama chat=chatml layers=12 width=256 heads=16 kv_heads=16 context=100000
LONGLEAF_MODEL=toy NO_COLOR=1 LANG=C.UTF-8 XDG_RUNTIME_DIR=$PWD/run
export LONGLEAF_MODEL NO_COLOR LANG XDG_RUNTIME_DIR
mkdir -m 700 run
meeting=$XDG_RUNTIME_DIR/longleaf

is "$(longleaf top --json)" '[]' "nothing runs, and JSON says so"
terminal 80 24 longleaf chat -m slow -c 20000 --temp 0
waits '>' || :
holds_screen ">" "a conversation begins"
is "$(stat -c %a "$meeting")" 700 "the folder where programs meet is private"
longleaf top > out
holds out 'longleaf chat' "top names it in words where there is no screen"
holds out 'waiting' "and what it does"
type_text 'tell me everything'
keys Enter
waits 'writing, ' || :
longleaf top --json > report.json
is "$(at 0.verb report.json)" chat "JSON has its verb"
is "$(at 0.model report.json)" slow "its model"
[ "$(at 0.memory.session.position report.json)" -gt 0 ]
tap_case $? "and how far its context is filled"
grep -q 'everything' report.json
is $? 1 "but no word of what is said"
type_text '/dash'
keys Enter
holds_screen 'Memory ' "/dash opens while the model works, and shows memory"
holds_screen '█ weights' "by component"
holds_screen 'KV blocks' "the KV blocks"
holds_screen 'Runs' "and the run log"
tmux resize-window -x 40 -y 10
holds_screen 'q leaves' "it follows a terminal that becomes small"
screen | awk 'length($0) > 120 { bad = 1 } END { exit bad }'
tap_case $? "and stays within it"
tmux resize-window -x 80 -y 24
holds_screen 'Runs' "and large again"
keys C-c
holds_screen 'writing, ' "Ctrl-C leaves it, and the model goes on writing"
type_text '/dash'
keys Enter
waits 'KV blocks' || :
keys q
holds_screen " · RAM " "q leaves it, too"
keys C-c
holds_screen '[stopped; the text so far is kept' "and the next Ctrl-C stops the answer"
pid=$(at 0.pid report.json)
kill -9 "$pid"
tries=0
until [ -z "$(longleaf top)" ] || [ $tries -gt 100 ]; do tries=$((tries + 1)); sleep 0.1; done
is "$(longleaf top --json)" '[]' "a program that was killed is no longer shown"
longleaf top "$pid" > out 2> err
is $? 1 "and asked for by its number it is missed"
holds err "no longleaf of yours runs as process $pid" "in a sentence"
longleaf run -n 1 -p x > /dev/null 2>&1
[ ! -e "$meeting/$pid.sock" ]
tap_case $? "the next program takes away what it left"
longleaf top seven > out 2> err
is $? 2 "a word is no process"

terminal 80 24 longleaf top
holds_screen 'no longleaf is running' "top waits for a program to begin"
mkfifo lines
longleaf chat -n 0 < lines > /dev/null 2>&1 &
fed=$!
exec 7> lines
holds_screen 'longleaf chat' "and shows it when it does"
exec 7>&-
wait "$fed" 2> /dev/null
holds_screen 'no longleaf is running' "and that it has ended"
keys q
ended 0 "q leaves top"

# Whoever answers may say anything: bytes that are no report, endless ones, escapes in names, silence.
liar() # PYTHON EXPRESSION OF BYTES SENT, or None for silence
{
    python3 - "$meeting/4242.sock" "$1" <<'END_PYTHON' &
import socket, sys, time
path, say = sys.argv[1], eval(sys.argv[2])
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen(8)
while True:
    c, _ = s.accept()
    try:
        if say is None:
            time.sleep(30)
        c.sendall(say)
    except OSError:
        pass
    c.close()
END_PYTHON
    lying=$!
    while [ ! -S "$meeting/4242.sock" ]; do sleep 0.05; done
}
quiet() { kill "$lying"; wait "$lying" 2> /dev/null; rm -f "$meeting/4242.sock"; }
if command -v python3 > /dev/null; then
    liar 'b"no report at all"'
    longleaf top 4242 > out 2> err
    [ ! -s out ]
    tap_case $? "bytes that are no report are not shown"
    quiet
    liar 'b"[" * 3000000'
    longleaf top 4242 > out 2> err
    holds err 'does not answer' "an endless report is given up"
    quiet
    liar 'None'
    longleaf top 4242 > out 2> err
    holds err 'does not answer' "and a silent one"
    terminal 80 24 longleaf top
    holds_screen 'process 4242 does not answer' "the dashboard says so of a program that is stopped"
    keys q
    ended 0 "and q leaves it, though every look at that program takes longer than a frame"
    quiet
    liar 'b"{\"report\":1,\"pid\":7,\"program\":\"\\u001b]0;owned\\u0007\",\"verb\":\"x\",\"activity\":{\"windows\":9e99,\"now\":[1,{}]},\"memory\":{\"devices\":7}}"'
    terminal 80 24 longleaf top
    holds_screen '␛]0;owned␇' "escapes in a report are shown, not obeyed"
    keys q
    quiet
else
    tap_skip "lies are seen through" "python3 is not installed"
fi
chmod 755 "$meeting"
longleaf top > out 2> err
is $? 1 "a folder that others may enter is not trusted"
holds err 'must be yours and closed to others' "in a sentence"
chmod 700 "$meeting"
TERM=dumb longleaf top > out 2> err
is $? 0 "on a dumb terminal top is text"
tap_done
