# log: runs are recorded without a word of their texts; killed, crowded, full, foreign and absent logs.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy small llama context=4096
log=$HOME/.local/state/longleaf/runs.db
secret=zwetschgenknoedel$$

ends 0 "an empty log is said to be empty" longleaf log
holds out "no such run" "in words"
[ ! -e "$log" ]
tap_case $? "looking at a log makes none"

longleaf run -m small --raw -p "$secret and more" -n 3 --ignore-eos -c 512 > out 2> err < /dev/null
longleaf run -m small --raw -p "$secret" -n 2 --ignore-eos -c 1024 --kv f32 > out 2> err < /dev/null
echo "$secret stands in this document. It was written in 1874." > document.txt
longleaf sum -m small document.txt > out 2> err
longleaf ppl -m small -c 64 document.txt > out 2> err
ends 0 "runs of several verbs are in the log" longleaf log --csv
cp out all.csv
is "$(cut -d, -f4 all.csv | tr '\n' ' ')" "verb run run sum ppl " "in their order"
is "$(cut -d, -f8 all.csv | sed -n 2,3p | tr '\n' ' ')" "512 1024 " "with their contexts"
is "$(cut -d, -f11 all.csv | sed -n 3p)" f32 "with their KV types"
[ -z "$(cut -d, -f1 all.csv | sort | uniq -d)" ] && [ "$(awk -F, '{ print NF }' all.csv | sort -u)" = 34 ]
tap_case $? "every row has its number and all columns"
is "$(stat -c %a "$log")" 600 "the log is for its owner alone"
cat "$log" "$log"-wal > bytes 2> /dev/null
grep -qF small bytes && ! grep -qF "$secret" bytes && ! grep -qF document.txt bytes
tap_case $? "no word of a prompt or a document is in the file, nor the document's name"

ends 0 "the log is JSON" longleaf log --json
cp out all.json
for row in 0 1 2 3; do
    line=$(sed -n $((row + 2))p all.csv)
    for pair in id:1 model:5 identity:6 context:8 tokens_in:14 tokens_out:15 predicted_total:23 peak_total:29 end:33; do
        json=$(at "runs.$row.${pair%:*}" all.json)
        csv=$(echo "$line" | cut -d, -f"${pair#*:}")
        [ "$json" = "${csv:-null}" ] || echo "row $row, ${pair%:*}: JSON has $json, CSV $csv"
    done
done > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "JSON and CSV agree"
is "$(at runs.0.tokens_out all.json)" 3 "the tokens written are counted"
is "$(at runs.3.end all.json)" done "how a run ended is there"
[ "$(at runs.0.predicted_cache all.json)" = "$(at runs.0.peak_cache all.json)" ]
tap_case $? "what was predicted for keys and values is what was measured"
sum=0
for part in weights cache scratch logits program; do sum=$((sum + $(at "runs.0.peak_$part" all.json))); done
is "$sum" "$(at runs.0.peak_total all.json)" "the components add up"
ends 0 "the log is a table" longleaf log
is "$(awk 'NR > 1 { print $1 }' out | tr '\n' ' ')" "$(cut -d, -f1 all.csv | sed 1d | tr '\n' ' ')" "with the same runs"
printf 'resize 50 24\nsend \\r\nend\n' > script
"$tests/pty" script wide sh -c 'read -r _; longleaf log' 2> err
tr -d '\r' < wide | awk 'length($0) > 50' > "$tap_note"
grep -q 'verb' wide && [ ! -s "$tap_note" ]
tap_case $? "a narrow terminal gets a narrow table"

ends 0 "runs of one verb are found" longleaf log --verb ppl --csv
is "$(sed 1d out | cut -d, -f4)" ppl "and no others"
ends 0 "the newest are found" longleaf log --last 2 --csv
is "$(sed 1d out | cut -d, -f4 | tr '\n' ' ')" "sum ppl " "in their order"
ends 0 "runs of a model are found" longleaf log -m nowhere --csv
is "$(wc -l < out)" 1 "a model without runs has none"
ends 0 "runs of the last hour are found" longleaf log --since 1h --csv
is "$(wc -l < out)" 5 "all of them"
ends 0 "runs since a day are found" longleaf log --since 2199-12-31 --csv
is "$(wc -l < out)" 1 "a day to come has none"
refused 2 "neither a day" "a time that is none is refused" longleaf log --since 2026-02-31
refused 2 "two forms" "two forms at once are refused" longleaf log --json --csv
refused 2 "needs two runs" "one run alone is not compared" longleaf log --compare 1
refused 2 "no number of a run" "a word is no run" longleaf log --compare 1 x
refused 1 "no run 999" "a run that is not there is said" longleaf log --compare 1 999
ends 0 "two runs are set side by side" longleaf log --compare 1 2
holds out "+100.0 %" "with their difference"
ends 0 "and as JSON" longleaf log --compare 1 2 --json
is "$(at b.context out)" 1024 "with both runs"
ends 0 "a curve is drawn" longleaf log --curve -m small --svg curve.svg
holds out "f16: 2 runs measured" "with what was measured"
is "$(grep -c '<circle' curve.svg)" 3 "a dot for each run of a session, in the drawing"
is "$(grep -c '<polyline' curve.svg)" 2 "over a line for each KV type"
refused 2 "needs --curve" "a drawing needs the curve" longleaf log --svg x.svg

before=$(longleaf log --csv | wc -l)
longleaf run -m small --raw -p x -n 1 --no-log > out 2> err < /dev/null
LONGLEAF_NO_LOG=1 longleaf run -m small --raw -p x -n 1 > out 2>> err < /dev/null
is "$(longleaf log --csv | wc -l)" "$before" "--no-log and its variable keep a run out of the log"

# Killed in the middle: the prompt comes slowly through chat, which waits with its session open.
mkfifo line
longleaf chat -m small -c 256 --plain < line > out 2> err &
victim=$!
exec 8> line
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    longleaf log --verb chat --json > going 2> /dev/null
    [ "$(at runs.0.context going 2> /dev/null)" = 256 ] && break
    sleep 0.2
done
is "$(at runs.0.end going)" going "a run that is going on is shown so"
kill -9 $victim
wait $victim 2> /dev/null
exec 8>&-
ends 0 "after kill -9 the log is whole" longleaf log --verb chat --json
is "$(at runs.0.end out)" cut "and the run is marked as cut"
is "$(at runs.0.context out)" 256 "with what was known of it"
ends 0 "the next run is recorded" longleaf run -m small --raw -p x -n 1

before=$(longleaf log --csv | wc -l)
for side in a b c; do
    (for _ in 1 2 3; do longleaf run -m small --raw -p x -n 1 -t 1; done) > "out.$side" 2> "err.$side" < /dev/null &
done
wait
is "$(longleaf log --csv | wc -l)" $((before + 9)) "processes side by side lose no run"
cat err.a err.b err.c > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "and say nothing"

printf '%s\n' '/log --curve' '/log --compare 1 2' '/log --nothing' | longleaf chat -m small > out 2> err
cat out err > "$tap_note"
grep -q 'measured over the line predicted' out && grep -q '^predicted_total' out && grep -q 'numbers of two runs' err
tap_case $? "a conversation shows the list, the curve and two runs side by side, too"

# one_warning NAME: the run goes well, with one sentence that names the log.
one_warning()
{
    longleaf run -m small --raw -p x -n 1 > out 2> err < /dev/null
    got=$?
    { echo "ended with $got"; cat err; } > "$tap_note"
    [ $got -eq 0 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q 'run log' err
    tap_case $? "$1"
}
mkdir state
echo "this is no database, and stays what it is, whatever longleaf does with it" > not_ours
mkdir -p state/longleaf && cp not_ours state/longleaf/runs.db
XDG_STATE_HOME=$tap_dir/folder/state
export XDG_STATE_HOME
one_warning "a file that is no log gives one warning, and the run goes on"
cmp not_ours state/longleaf/runs.db
tap_case $? "and is left alone"
refused 1 "runs.db" "log says what is wrong with it" longleaf log
head -c 6000 "$log" > state/longleaf/runs.db
one_warning "so does a log that is damaged"
rm -f state/longleaf/runs.db*
mkdir state/longleaf/runs.db
one_warning "so does a folder in its place"
rmdir state/longleaf/runs.db
XDG_STATE_HOME=/proc/longleaf
one_warning "so does a folder that cannot be written"
tap_done
