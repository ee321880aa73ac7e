# Opening a model or a document and working with it ends in a sentence whichever call is refused.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/faults/faults.sh"
client=$top_builddir/tests/faults/client
most=${LL_LONG:+4000}
most=${most:-150}

for model in llama-grouped bloom-4-heads gemma3-window; do
    for kind in malloc mmap open; do
        faults_try $kind "$most" '0 1' "the $model model ends in a sentence when a $kind call fails" \
            "$client" model "$top_srcdir/tests/vectors/$model.gguf"
    done
done
for kind in malloc read open; do
    faults_try $kind "$most" '0 1' "a Markdown document ends in a sentence when a $kind call fails" \
        "$client" document "$top_srcdir/CONTRIBUTING.md"
done
tap_done
