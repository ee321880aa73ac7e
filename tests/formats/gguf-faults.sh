# Every refused call while a model file is written or opened ends in an error, and nothing half done stays.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/faults/faults.sh"
client=$top_builddir/tests/formats/gguf_client
folder=$tap_dir/files
mkdir "$folder"

for kind in malloc mmap open; do
    "$client" write "$folder/toy.gguf" || exit 99
    faults_try $kind 200 '0 1' "opening a model ends in a sentence when a $kind call fails" "$client" open "$folder/toy.gguf"
done

# Either the whole model lies there, or nothing.
whole_or_none()
{
    if [ "$1" -eq 0 ]; then
        "$client" open "$folder/toy.gguf" && rm "$folder/toy.gguf"
    else
        [ -z "$(ls "$folder")" ]
    fi
}
rm "$folder/toy.gguf"
faults_check=whole_or_none
for kind in malloc write fsync rename; do
    faults_try $kind 100 '0 1' "a model is written whole or not at all when a $kind call fails" \
        "$client" write "$folder/toy.gguf"
done
tap_done
