# Pulling the plug: kill -9 at any moment, a disk that is full, too little memory. What is left is whole.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy small llama context=4096
log=$HOME/.local/state/longleaf/runs.db
i=0
while [ $i -lt 60 ]; do
    i=$((i + 1))
    echo "The lighthouse of part $i was built in $((1800 + i)) and holds $i lamps. Its keeper counted $((i * 7)) ships."
done > document.txt
longleaf sum -m small --no-cache document.txt > wanted 2> err

# ---- kill -9, a little later each time, with what is kept of answers and the log of runs in use ----
broken=0 rows=0
for tenths in 0 1 2 3 5 8; do
    longleaf sum -m small document.txt > out 2> err < /dev/null &
    victim=$!
    sleep 0.$tenths
    kill -KILL "$victim" 2> /dev/null
    wait "$victim" 2> /dev/null
    longleaf log --json > log.json 2> err || { broken=1; echo "after 0.$tenths s"; cat err; } >> "$tap_note"
    longleaf cache show > cache 2> err || { broken=1; echo "cache after 0.$tenths s"; cat err; } >> "$tap_note"
done
tap_case $broken "however early a run is killed, the log and the answers kept are whole"
ends 0 "the next run goes through" longleaf sum -m small document.txt
cmp -s out wanted || diff out wanted > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "with the bytes of a run that nothing had been kept for"
longleaf log --csv > rows.csv
is "$(tail -n 1 rows.csv | cut -d, -f33)" done "and ends well in the log"

# ---- a disk that is full: no file may grow beyond what it has ----
rm -rf "$HOME/.local/state/longleaf" "$HOME/.cache/longleaf"
limited() # BLOCKS COMMAND…
{
    blocks=$1
    shift
    sh -c 'ulimit -f "$1"; shift; exec "$@"' sh "$blocks" "$@"
}
for blocks in 0 1 8 24; do
    limited $blocks longleaf sum -m small document.txt 2> err | cat > out
    cmp -s out wanted || { echo "with $blocks blocks:"; cat err; diff out wanted; } >> "$tap_note"
done
[ ! -s "$tap_note" ]
tap_case $? "a full disk loses no answer"
longleaf sum -m small --no-log document.txt > /dev/full 2> err
is $? 1 "an answer that cannot be written is a failure"
holds err "could not be written" "and is said"
limited 0 longleaf sum -m small -o whole.txt document.txt 2> err
is $? 1 "so is a file that cannot"
[ ! -e whole.txt ] && [ -z "$(ls -a | grep -F whole.txt)" ]
tap_case $? "and nothing of it is left"
ends 0 "with room again, the log is whole" longleaf log --json
ends 0 "and the next run is like the first" longleaf sum -m small document.txt
cmp -s out wanted
tap_case $? "to the byte"

# ---- too little memory, in steps: an end with a sentence, never a crash ----
case ${ll_sanitizers-} in
'')
    died=0 refused=0 went=0
    for mebibytes in 16 32 48 56 60 64 72 80 96 128 192 256 512 1024 2048; do
        sh -c 'ulimit -v "$1"; shift; exec "$@"' sh $((mebibytes * 1024)) \
            longleaf run -m small --raw -p 'the lighthouse' -n 4 -c 300000 -t 1 --ignore-eos > out 2> err < /dev/null
        code=$?
        case $code in
        0) went=1 ;;
        1 | 4 | 5) [ -s err ] && refused=1 || died=1 ;;
        127) ;; # the loader of the system had no room for the program itself
        *) died=1 ;;
        esac
        [ $died -eq 0 ] || { echo "$mebibytes MiB: ended with $code"; cat err; } >> "$tap_note"
    done
    [ ! -s "$tap_note" ]
    tap_case $? "too little memory ends with a sentence"
    [ $refused -eq 1 ] && [ $went -eq 1 ]
    tap_case $? "and enough of it with an answer"
    ;;
*) tap_skip "too little memory ends with a sentence" "a sanitizer needs address space of its own" ;;
esac

# ---- a container: a control group of either version, where one may be made ----
# make_group BYTES
make_group()
{
    for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$top/longleaf-test.$$
        [ -w "$top/cgroup.procs" ] && mkdir "$group" 2> /dev/null || continue
        for limit in memory.limit_in_bytes memory.max; do
            [ -e "$group/$limit" ] && echo "$1" > "$group/$limit" && return 0
        done
        rmdir "$group"
    done 2> /dev/null
    return 1
}
inside()
{
    sh -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' sh "$group" "$@"
}
if make_group $((64 << 20)); then
    inside longleaf run -m small --raw -p hi -n 4 -c 2000000 > out 2> err < /dev/null
    is $? 4 "a container's limit is heard of before any work"
    holds err "would fit" "with what would fit in it"
    rmdir "$group"
else
    tap_skip "a container's limit is heard of before any work" "no control group can be made here"
    tap_skip "with what would fit in it" "no control group can be made here"
fi

# ---- a neighbour in the container takes what a conversation was promised, and gives it back ----
# A token of this model takes half a MiB of keys and values in F32.
wait_for() # SECONDS CONDITION…: at the most so long
{
    tries=$(($1 * 10))
    shift
    while [ $tries -gt 0 ] && ! "$@"; do
        tries=$((tries - 1))
        sleep 0.1
    done
}
answered() # BYTES: more than so many have come
{
    [ "$(wc -c < answers)" -gt "$1" ]
}
is_told() { grep -q 'other programs' told; }
holds_it() { [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$neighbour/status")" -gt $((size / 1024)) ]; }
usage() { cat "$group/memory.usage_in_bytes" "$group/memory.current" 2> /dev/null; }
room=$((512 << 20))
case ${ll_sanitizers-} in
'') make_group $room && eaten=1 || eaten=0 ;;
*) eaten=0 ;;
esac
if [ $eaten -eq 1 ]; then
    toy wide llama layers=16 width=64 heads=32 kv_heads=32 head_dim=128 context=4096
    mkfifo said plate
    : > answers
    : > told
    inside longleaf chat -m wide --kv f32 -c 512 -n 3 -t 2 --plain < said > answers 2> told &
    talker=$!
    exec 8> said
    echo "hello" >&8
    wait_for 60 answered 0
    size=$((room - $(usage) - (48 << 20)))
    sh -c 'echo $$ > "$1/cgroup.procs"; exec dd if=/dev/zero of=plate bs="$2" count=1' sh "$group" $size 2> /dev/null &
    neighbour=$!
    exec 9<> plate
    wait_for 60 holds_it
    i=0
    while [ $i -lt 6 ]; do
        i=$((i + 1))
        printf 'the keeper of lamp %d saw ships. ' $i
    done >&8
    echo >&8
    wait_for 60 is_told
    holds told "other programs have taken the rest" "what a neighbour took is noticed before it is needed"
    kill -KILL $neighbour
    wait $neighbour 2> /dev/null
    before=$(wc -c < answers)
    echo "and now" >&8
    wait_for 60 answered "$before"
    answered "$before"
    tap_case $? "the conversation goes on when the memory is back"
    exec 8>&- 9>&-
    wait $talker
    is $? 4 "its exit code tells of the message that found no memory"
    longleaf log --csv > rows.csv
    is "$(tail -n 1 rows.csv | cut -d, -f33)" "no memory" "and so does the log"
    rmdir "$group"
else
    for name in "what a neighbour took is noticed before it is needed" \
        "the conversation goes on when the memory is back" \
        "its exit code tells of the message that found no memory" "and so does the log"; do
        tap_skip "$name" "no control group can be made here"
    done
fi

# ---- a state folder on a file system without room, which no limit of a process stands for ----
mkdir -p full
if mount -t tmpfs -o size=64k none full 2> /dev/null; then
    XDG_STATE_HOME=$PWD/full longleaf sum -m small document.txt > out 2> err
    is $? 0 "a log that finds no room stops no run"
    cmp -s out wanted
    tap_case $? "which answers as ever"
    [ "$(grep -c 'log' err)" -le 2 ]
    tap_case $? "and says it once"
    XDG_STATE_HOME=$PWD/full longleaf log --json > out 2> err
    [ $? -le 1 ] && ! grep -q malformed err
    tap_case $? "what is of it is no damaged file"
    umount full
else
    for name in "a log that finds no room stops no run" "which answers as ever" "and says it once" \
        "what is of it is no damaged file"; do
        tap_skip "$name" "no file system can be mounted here"
    done
fi

# ---- a stack too small to run in ----
(ulimit -s 64 && longleaf run -m small --raw -p hi -n 1 > out 2> err)
is $? 1 "a stack too small is refused"
holds err 'ulimit -s' "with the number it takes"
is "$(wc -l < err)" 1 "in one line"
tap_done
