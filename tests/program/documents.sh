# Questions and the cache from outside: answers, exit codes, several files, kill -9, locked-up files.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama seed=5
LONGLEAF_MODEL=toy XDG_CACHE_HOME=$tap_dir/cache
export LONGLEAF_MODEL XDG_CACHE_HOME
cat > bridge.txt << 'END'
The town of Velmora lies on the river Ashe. The Velmora bridge was built by the engineer Anna Kell in 1832.
It is made of red sandstone and carries two roads.

Every member of the guild may attend the yearly meeting and speak there.
END
printf 'The harbour of Karst was dredged in 1911. Its lighthouse is 70 feet high.\n' > harbour.txt

# ---- ask ----
ends 0 "a question that the text answers ends with 0" longleaf ask bridge.txt -q 'Who built the Velmora bridge?'
holds out 'Anna Kell' "and the answer is in it"
holds out '[bytes 44-107]' "with its bytes"
ends 7 "a question that no sentence answers ends with 7" longleaf ask bridge.txt -q 'Who built the Ostrun tower?'
holds out 'Not in the document.' "and says so"
ends 0 "several files are searched together" longleaf ask bridge.txt harbour.txt -q 'When was the harbour of Karst dredged?'
holds out '[harbour.txt, ' "and the quote names its file"
ends 0 "an answer comes as an object" longleaf ask --json bridge.txt -q 'Who built the Velmora bridge?'
is "$(at found out)" true "with what was found"
is "$(at quotes.0.bytes.0 out)" 44 "and where"
ends 7 "of several questions one without an answer sets the code" longleaf ask bridge.txt -q 'Who built the Velmora bridge?' -q 'Who sank the Ostrun ferry?'
holds out 'Who sank the Ostrun ferry?' "and each is printed above its answer"
ends 0 "no model is needed for quotes" longleaf ask --method extractive -m nowhere bridge.txt -q 'Who built the Velmora bridge?'
refused 2 'with -q TEXT' "without a question nothing is asked" longleaf ask bridge.txt
refused 2 'question is empty' "nor with an empty one" longleaf ask bridge.txt -q ''
refused 6 'nowhere.txt' "a missing document is named" longleaf ask nowhere.txt -q 'Who built the bridge?'
ends 0 "-q is quiet for other verbs" longleaf sum -q --method extractive bridge.txt

# ---- reports and several files ----
ends 0 "several files are summed up together" longleaf sum --no-cache --length 80 bridge.txt harbour.txt
holds out '[bridge.txt]' "and each sentence names its file"
holds out '[harbour.txt]' "also of the shorter one"
ends 0 "a summary says what each sentence rests on" longleaf sum --no-cache --json --length 40 bridge.txt
is "$(at sentences.0.file out)" bridge.txt "with its file"
is "$(at sentences.0.window out)" 0 "its window"
is "$(at sentences.0.supported out)" true "and whether it is borne out"
printf '# The <b>odd</b> & [strange] *book*\n\nIt was written by Anna Kell in 1832 and holds 40 pages of <script>alert(1)</script> and more.\n' > odd.md
ends 0 "a summary becomes a web page" longleaf sum --method extractive -o report.html odd.md
holds report.html '<a href="odd.md#:~:text=It%20was%20written%20by%20Anna%20Kell">bytes ' "with links to the place"
! grep -q '<script>\|<b>' report.html
tap_case $? "and nothing of the document is taken for HTML"
ends 0 "or a Markdown file" longleaf sum --method extractive -o report.md odd.md
holds report.md '](odd.md#:~:text=It%20was' "with links, too"
holds report.md '\<b\>odd\</b\> \& \[strange\]' "and nothing of the document is taken for Markdown"
ends 0 "the form may be named" longleaf sum --method extractive --format html odd.md
holds out '<!DOCTYPE html>' "without a file"
ends 0 "a plan tells the time" longleaf sum --plan bridge.txt
holds out 'time      at most about ' "before any work is done"
ends 0 "a language may be asked for" longleaf sum --no-cache --language French bridge.txt

# ---- cache ----
seq -f 'The furnace number %g was built in a year of plenty by a master of glass, and held many pots.' 1 400 |
    awk '{ print } NR % 4 == 0 { print "" }' > book.txt
rm -rf "$tap_dir/cache"
ends 0 "an empty cache is shown" longleaf cache
holds out 'answers   0' "as empty"
ends 0 "a summary without a cache leaves none" longleaf sum --no-cache --length 60 book.txt
cp out whole
[ ! -e "$tap_dir/cache/longleaf/answers.db" ]
tap_case $? "no file is made with --no-cache"
rounds=${LL_KILLS:-3}
killed=0
began=$(date +%s%N)
longleaf sum --no-cache --length 60 book.txt > /dev/null 2> err < /dev/null
takes=$((($(date +%s%N) - began) / 1000000 + 1)) # a run, in milliseconds: the kill comes somewhere inside of one
for _ in $(seq $((rounds * 20))); do
    [ "$killed" -lt "$rounds" ] || break
    longleaf sum --length 60 book.txt > out 2> err < /dev/null &
    pid=$!
    sleep "$(od -An -N2 -tu2 /dev/urandom | awk -v most="$takes" '{ printf "%.3f", $1 % most / 1000 }')"
    if kill -9 $pid 2> /dev/null; then
        killed=$((killed + 1))
    else
        rm -rf "$tap_dir/cache" # it was finished: a run that finds all its answers is too quick to be hit
    fi
    wait $pid 2> /dev/null
done
echo "# $killed of $rounds runs were killed"
ends 0 "after kill -9 at random moments the summary is finished" longleaf sum --length 60 book.txt
cmp -s out whole || diff out whole > "$tap_note"
cmp -s out whole
tap_case $? "and it is the same, byte for byte"
ends 0 "run again it takes all answers from the cache" longleaf sum --json --length 60 book.txt
is "$(at stats.reused out)" "$(at stats.calls out)" "and computes none"
ends 0 "the cache is shown" longleaf cache --json
[ "$(at answers out)" -gt 5 ]
tap_case $? "with its answers"
is "$(stat -c %a "$tap_dir/cache/longleaf/answers.db")" 600 "its file is for its user only"
longleaf sum --length 60 book.txt > one 2> err & first=$!
longleaf sum --length 60 bridge.txt book.txt > two 2>> err
wait $first && cmp -s one whole
tap_case $? "two processes share one cache"
ends 0 "the cache is cleared" longleaf cache clear
holds out 'answers   0' "to nothing"
printf 'no database' > "$tap_dir/cache/longleaf/answers.db"
longleaf sum --no-cache --length 60 bridge.txt > whole
ends 0 "a damaged cache does not keep a summary from being made" longleaf sum --length 60 bridge.txt
holds err 'not kept' "a note says that nothing is kept"
holds err 'answers.db' "and names the file"
cmp -s out whole
tap_case $? "and the summary is the one made without a cache"
ends 0 "nor an answer" longleaf ask bridge.txt -q 'Who built the Velmora bridge?'
is "$(cat "$tap_dir/cache/longleaf/answers.db")" 'no database' "and what was no cache is left alone"
ends 0 "a home where nothing can be written stops no work" env XDG_CACHE_HOME=/dev/null longleaf sum --length 60 bridge.txt
cmp -s out whole && grep -q 'Not a directory' err
tap_case $? "and its reason is told"
(ulimit -f 8 && longleaf sum --length 60 book.txt > /dev/null 2> err < /dev/null)
is $? 0 "a cache that cannot grow in the middle of the work loses nothing of it"
refused 2 'prune' "cache knows its words" longleaf cache bake
tap_done
