# Every refused call under src/base ends in an error with a sentence, and files stay whole.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/faults/faults.sh"
client=$top_builddir/tests/faults/client
folder=$tap_dir/files
mkdir "$folder"
printf 'old text of some length' > "$folder/file"

# The file is the whole old one or the whole new one, and no other file lies beside it.
whole()
{
    if [ "$(ls "$folder")" != file ]; then
        ls "$folder"
        rm -f "$folder"/file.*
        return 1
    fi
    if [ "$1" -eq 0 ]; then
        [ "$(wc -c < "$folder/file")" -eq 300000 ] || return 1
    else
        [ "$(cat "$folder/file")" = 'old text of some length' ] || return 1
    fi
    printf 'old text of some length' > "$folder/file"
}

for kind in malloc write fsync rename; do
    faults_check=whole
    printf 'old text of some length' > "$folder/file"
    faults_try $kind 200 '0 1' "a file is written whole or not at all when a $kind call fails" "$client" write "$folder/file"
done
faults_check=
for kind in malloc read open; do
    faults_try $kind 200 '0 1' "reading a file ends in a sentence when a $kind call fails" "$client" read "$folder/file"
done
for kind in mmap open; do
    faults_try $kind 200 '0 1' "mapping a file ends in a sentence when a $kind call fails" "$client" map "$folder/file"
done
faults_try malloc 200 '0 1' "a thread pool works with fewer threads or ends in a sentence" "$client" pool none

# A fault that nothing notices would make all of this empty.
faults_run malloc:1+ "$client" read "$folder/file"
[ $? -ne 0 ]
tap_case $? "a fault that stays makes the client fail"
tap_done
