# Standard streams: pipes, closed descriptors, full devices, files written whole, no colours in logs.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama chat=chatml
LONGLEAF_MODEL=toy
export LONGLEAF_MODEL
printf 'one\ttwo\n\033[31mred\033[0m \177 \n' > hostile.txt

# ---- pipes ----
ends 0 "an answer into a file" longleaf run -p hi -n 4 --ignore-eos
[ ! -s err ]
tap_case $? "nothing on standard error when it is no terminal"
! grep -q "$(printf '\033')" out
tap_case $? "no escape sequences in an answer"
longleaf text hostile.txt > out
grep -q "$(printf '\033')\[31m" out || grep -q '␛' out
tap_case $? "a pipe gets the bytes as they are"
(trap - PIPE; longleaf help options 2> err; echo $? > code) | head -n 1 > /dev/null
[ ! -s err ]
tap_case $? "a reader that goes away is no matter for words"
(trap - PIPE; longleaf run -p hi -n 200 --ignore-eos 2> err; echo $? > code) | head -c 1 > /dev/null
[ ! -s err ] && { [ "$(cat code)" = 141 ] || [ "$(cat code)" = 0 ]; }
tap_case $? "not in the middle of an answer either: it ends as SIGPIPE would end it"

# ---- closed and full ----
for verb in "help options" "run -p hi -n 2" "info toy" "tokens hostile.txt" "text hostile.txt" "models list"; do
    longleaf $verb >&- 2> err < /dev/null
    [ $? -eq 1 ] && grep -q 'could not be written' err || cat err > "$tap_note"
    [ ! -s "$tap_note" ]
    tap_case $? "$verb: closed standard output is a failure that is said"
    if [ -w /dev/full ]; then
        longleaf $verb > /dev/full 2> err < /dev/null
        [ $? -eq 1 ] && grep -q 'No space left' err || cat err > "$tap_note"
        [ ! -s "$tap_note" ]
        tap_case $? "$verb: a full device is a failure that is said"
    else
        tap_skip "$verb: a full device is a failure that is said" "there is no /dev/full"
    fi
done
longleaf run -p hi -n 2 2>&- > out < /dev/null
[ $? -eq 0 ] && [ -s out ]
tap_case $? "closed standard error changes nothing"
sum=$(sha256sum < "$LONGLEAF_MODELS/toy.gguf")
longleaf run -p hi -n 2 >&- 2>&- <&-
is "$(sha256sum < "$LONGLEAF_MODELS/toy.gguf")" "$sum" "with all three closed nothing is written into a file"
ends 1 "a failure names the file that -o could not make" longleaf run -p hi -n 2 -o nowhere/answer.txt
holds err nowhere/answer.txt "by its name"

# ---- files ----
echo precious > answer.txt
ends 0 "-o writes a file" longleaf run -p hi -n 4 --ignore-eos -o answer.txt
[ ! -s out ] && ! grep -q precious answer.txt && [ -s answer.txt ]
tap_case $? "the answer is in it and not on standard output"
longleaf run -p hi -n 4 --ignore-eos > again
cmp -s answer.txt again
tap_case $? "the same answer"
echo precious > answer.txt
refused 6 nowhere "a failed verb" longleaf text nowhere -o answer.txt
is "$(cat answer.txt)" precious "leaves the file as it was"
is "$(ls | grep -c 'answer.txt.')" 0 "and no half-written one beside it"
chmod 640 answer.txt
longleaf run -p hi -n 2 -o answer.txt
is "$(stat -c %a answer.txt)" 640 "a file keeps its mode"
ln -s answer.txt link.txt
longleaf run -p hi -n 2 -o link.txt
[ -L link.txt ]
tap_case $? "a link stays a link"
if [ -w /dev/full ]; then
    longleaf run -p hi -n 2 -o /dev/full 2> err
    is $? 1 "a full device through -o is a failure"
fi

ends 0 "-o - is standard output" longleaf run -p hi -n 4 --ignore-eos -o -
cmp -s out again && [ ! -e ./- ]
tap_case $? "and no file of that name"
(longleaf run -p hi -n 4 --ignore-eos -o /dev/stdout; echo after) > both
(cat again; echo after) | cmp -s - both
tap_case $? "-o /dev/stdout does not replace the file that others go on writing to"
(ulimit -f 1; longleaf help options > /dev/null; longleaf text hostile.txt -o small.out) 2> err
[ "$(cat small.out)" = "$(longleaf text hostile.txt)" ]
tap_case $? "a file within the limit for files is written"
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "word%d ", i }' > large.txt
(ulimit -f 1; longleaf text large.txt -o large.out) 2> err
is $? 1 "one beyond it is a failure"
holds err 'large.out: the answer could not be written' "that is said"
is "$(ls | grep -c 'large.out')" 0 "and leaves nothing behind"
longleaf run -p hi -n 4000 --ignore-eos -c 8192 -o killed.txt &
sleep 0.3
kill -9 $!
wait $! 2> /dev/null
if [ -d /proc/self/fd ]; then
    is "$(ls | grep -c 'killed.txt')" 0 "a program that is killed leaves no half-written file"
fi

# ---- chat from a pipe ----
printf 'hello\n\n/context\n"""\ntwo\nlines\n"""\n/quit\nnot read\n' | longleaf chat -n 3 > out 2> err
code=$?
is $code 0 "a conversation from a pipe ends well"
! grep -q '> ' out && [ "$(grep -c 'tokens' out)" -ge 1 ]
tap_case $? "without prompts among its answers"
printf '/qiut\n' | longleaf chat > out 2> err
code=$?
is $code 2 "its exit code is that of the first failure"
holds err 'did you mean /quit?' "a wrong command gets a suggestion"
printf '/etc/passwd is a file\n' | longleaf chat 2> err
holds err 'there is no command /etc/passwd' "a message that begins with a slash is not lost in silence"
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "%d ", i; print "" }' | longleaf chat -c 128 > out 2> err
code=$?
is $code 3 "a line longer than the context is refused"
holds err 'the context holds 128' "with both numbers"
tap_done
