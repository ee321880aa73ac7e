# run, tokens, info, ppl, bench and models do what the manual says, on toy models.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama chat=chatml
toy bare llama chat=none
toy odd llama chat=strange
LONGLEAF_MODEL=toy
export LONGLEAF_MODEL

# ---- run ----
ends 0 "run answers" longleaf run -p 'hello there' -n 5 --ignore-eos --json
is "$(at tokens out)" 5 "as many tokens as asked for"
is "$(at finish out)" length "the finish says why it ended"
is "$(at timings.generated_tokens out)" 5 "the timings count them"
ends 0 "logprobs are given" longleaf run -p 'hello there' -n 3 --ignore-eos --json --logprobs 4
is "$(at logprobs out)" 3 "one row for each token"
is "$(at logprobs.1.best out)" 4 "with as many alternatives as asked for"
is "$(at logprobs.0.id out)" "$(at tokens.0 out)" "a row names its token"
is "$(at logprobs.0.best.0.id out)" "$(at tokens.0 out)" "greedy takes the best"
longleaf run -p hello -n 4 --ignore-eos > from_option
echo hello | longleaf run -n 4 --ignore-eos > from_pipe
echo hello > prompt.txt
longleaf run -f prompt.txt -n 4 --ignore-eos > from_file
echo hello | longleaf run - -n 4 --ignore-eos > from_dash
cmp from_option from_pipe && cmp from_option from_file && cmp from_option from_dash
tap_case $? "-p, -f, a pipe and - give the same answer"
[ "$(tail -c 1 from_option)" = "" ]
tap_case $? "an answer ends with a newline"
ids=$(longleaf tokens --ids prompt.txt)
longleaf run --raw -f prompt.txt -n 4 --ignore-eos --temp 0 > raw
[ -s raw ] && [ -n "$ids" ]
tap_case $? "raw continues a text"
ends 0 "a prompt may be token ids" longleaf run --tokens "$ids" -n 2 --ignore-eos --json
is "$(at tokens out)" 2 "and is continued"
refused 2 'outside the model' "ids beyond the vocabulary are refused" longleaf run --tokens 99999999 -n 2
refused 2 '--raw' "a model without a template says how to go on" longleaf run -m bare -p hello
refused 2 '--raw' "an unknown template is refused, never guessed" longleaf run -m odd -p hello
ends 0 "and raw serves both" longleaf run -m odd --raw -p hello -n 2
ends 0 "no tokens may be asked for" longleaf run -p hello -n 0 --json
is "$(at tokens out)" 0 "and none come"
longleaf run -p hello -n 3 --ignore-eos --ndjson > lines
while read -r line; do echo "$line" | "$tests/json_at" type || echo broken; done < lines | sort | uniq -c | tr -s ' ' > kinds
grep -q ' 3 token' kinds && grep -q ' 1 answer' kinds && ! grep -q broken kinds
tap_case $? "ndjson is one object a line"
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "word%d ", i }' > long.txt
refused 3 'the context holds 256' "a prompt longer than the context is refused with both numbers" \
    longleaf run -c 256 -f long.txt -n 1
grep -q 'longleaf sum' err
tap_case $? "and the advice to use sum"
printf 'a\000b' > zero.bin
refused 6 'zero bytes' "a file with zero bytes is no prompt" longleaf run -f zero.bin

# ---- tokens, text ----
ends 0 "tokens counts" longleaf tokens prompt.txt
holds out 'tokens, ' "in words"
ends 0 "tokens lists as JSON" longleaf tokens --json prompt.txt
is "$(at count out)" "$(at ids out)" "as many ids as it counts"
is "$(at tokens out)" "$(at ids out)" "and as many rows"
ends 0 "text prints what a model is given" longleaf text prompt.txt
is "$(cat out)" hello "unchanged"
ends 0 "text describes it as JSON" longleaf text --json prompt.txt
is "$(at kind out)" text "with its kind"

# ---- numbers that are estimates ----
ends 0 "key sentences need no model" longleaf sum --method extractive prompt.txt
holds out 'Coverage: about ' "whose tokens are then estimated, and said to be"
ends 0 "the same as JSON" longleaf sum --method extractive --json prompt.txt
is "$(at coverage.tokens_estimated out)" true "a program is told so, too"
ends 0 "a plan with a model" longleaf sum --plan --json prompt.txt
is "$(at tokens_estimated out)" false "counts them"
is "$(at document_tokens out)" "$(longleaf tokens --json prompt.txt | "$tests/json_at" count)" "as tokens does"

# ---- info ----
ends 0 "info describes a model" longleaf info toy
holds out 'architecture  llama' "with its architecture"
ends 0 "info as JSON, with metadata and tensors" longleaf info --json --meta --tensors toy
is "$(at metadata out | awk '{ print ($1 > 5) }')" 1 "the metadata is there"
is "$(at tensors.0.name out | wc -w | tr -d ' ')" 1 "the tensors have names"

# ---- ppl ----
head -c 3000 long.txt > text.txt
ends 0 "ppl measures" longleaf ppl -m bare text.txt --context 64 --json --buckets 4
tokens=$(at tokens out)
count=$(longleaf tokens -m bare --json text.txt | "$tests/json_at" count)
starts=$(longleaf tokens -m bare --json prompt.txt > /dev/null && echo 0)
[ "$tokens" = "$count" ] || [ "$tokens" = "$((count - 1))" ]
tap_case $? "every token counts once ($tokens of $count, $starts)"
ends 0 "windows side by side count the same tokens" longleaf ppl -m bare text.txt --context 64 --stride 64 --json
at perplexity out | awk '{ exit !($1 > 1 && $1 < 100000) }'
tap_case $? "a random model's perplexity is a finite number"
refused 2 'no larger than the context' "a stride beyond the context is refused" longleaf ppl text.txt --context 64 --stride 65

# ---- bench ----
ends 0 "bench measures" longleaf bench --depths 0,32 --prefill 16 -n 4 --repeat 2 --json
is "$(at depths out)" 2 "at each depth"
is "$(at depths.1.prefill_rate.all out)" 2 "each repetition"
ends 0 "bench prints a table" longleaf bench --depths 0,32 --prefill 16 -n 4 --repeat 1
holds out 'prefill, tokens/s' "with a heading"

# ---- metadata set by hand ----
longleaf info toy --json --set-meta llama.context_length=u32:96 --set-meta general.name=str:other > out
is "$(at trained_context out)" 96 "a number can be put in place of the file's"
is "$(at name out)" other "and a text"
refused 2 'key=type:value' "what has not that form is refused" longleaf info toy --set-meta llama.context_length=96
refused 2 'key=type:value' "and so is what its type cannot hold" longleaf info toy --set-meta llama.context_length=u32:-1
refused 5 'context_length is 0' "what is set is checked as the file's own" \
    longleaf info toy --set-meta llama.context_length=u32:0

# ---- quantize ----
"$top_builddir/tests/toy/make_toy" llama whole.gguf dtype=F32 || exit 99
ends 0 "a model is written smaller" longleaf quantize whole.gguf small.gguf q8_0
holds out 'small.gguf: ' "with both sizes"
ends 0 "the smaller model runs" longleaf run -m ./small.gguf -p 'hello there' -n 3 --ignore-eos
longleaf info ./small.gguf --json --tensors > out
is "$(at quantization out)" Q8_0 "its weights are of that type"
refused 2 'no type to write' "an unknown type is refused with those there are" longleaf quantize small.gguf x.gguf q9
refused 2 'same file' "a model is never written over itself" longleaf quantize small.gguf ./small.gguf q8_0
printf 'no model' > broken.gguf
refused 5 'broken.gguf' "what is no model is refused" longleaf quantize broken.gguf x.gguf q8_0
test ! -e x.gguf
tap_case $? "and nothing is left behind"

# ---- check ----
ends 0 "a sound file is found so" longleaf check whole.gguf
holds out 'sound: llama' "with what it is"
head -c 9000 whole.gguf > cut.gguf
refused 5 'missing' "a file that ends early is told" longleaf check cut.gguf
refused 5 'nowhere' "one that is not there, too" longleaf check nowhere.gguf
longleaf check --json whole.gguf cut.gguf > out
is "$?" 5 "one bad file of two is a bad verdict"
is "$(at files.0.sound out)" true "the good one is called so"
is "$(at files.1.sound out)" false "and the bad one"

# ---- positions ----
ends 0 "rotary positions are scaled as asked" longleaf run -m toy -p hello -n 3 --raw --ignore-eos \
    --rope-scaling yarn --rope-factor 4 --rope-original 32
refused 2 'no meaning' "a bias is refused where there is no ALiBi" longleaf run -m toy -p hello --alibi-max-bias 8
refused 2 'is not one of' "a scaling that nobody knows is refused" longleaf run -m toy -p x --rope-scaling magic
refused 2 'outside' "and a factor out of range" longleaf run -m toy -p x --rope-factor 0

# ---- what info tells ----
longleaf info toy > out
holds out 'tensors  ' "info counts tensors by their type"
holds out 'with a context of' "and tells what memory contexts take"
longleaf info ./whole.gguf --json > out
is "$(at types.0.type out)" F32 "as JSON, too"

# ---- convert, and folders as models ----
folder=$top_srcdir/tests/vectors/hf/llama
ends 0 "a Hugging Face folder is written as a GGUF file" longleaf convert "$folder" llama.gguf
ends 0 "and as one of a smaller type" longleaf convert "$folder" llama-q8.gguf Q8_0
longleaf run -m ./llama.gguf -p 'hello there' -n 6 --raw --ignore-eos > from-file
ends 0 "a folder is a model, too" longleaf run -m "$folder" -p 'hello there' -n 6 --raw --ignore-eos
cmp -s out from-file
tap_case $? "and answers as the file does"
refused 2 'is a file' "a file is no folder to convert" longleaf convert llama.gguf x.gguf
mkdir -p empty half
refused 5 'empty' "an empty folder is no model" longleaf convert empty x.gguf
cp "$folder"/config.json "$folder"/tokenizer.json half/
refused 5 'model.safetensors' "a folder without weights is none" longleaf convert half x.gguf
head -c 20000 "$folder/model.safetensors" > half/model.safetensors
refused 5 'incomplete' "a download that ended early is told" longleaf convert half x.gguf
test ! -e x.gguf
tap_case $? "and nothing is left behind"

# ---- sum and pipes ----
awk 'BEGIN { for (i = 1; i <= 400; i++)
    printf "Harbour number %d keeps lantern %d and bell %d for the ships of the strait in winter.\n\n", i, i * 7, i * 13 }' > long.txt
longleaf sum --method extractive --length 60 --window 200 long.txt > short_one
longleaf sum --method extractive --length 100 --window 200 long.txt > longer_one
longleaf sum --method extractive --length 60 --window 200 --json long.txt > all
is "$(grep -c '^  - ' short_one)" 12 "the outline of a long document has a part for each five words asked for"
is "$(grep -c '^  - ' longer_one)" 20 "and a longer answer a longer one"
grep -q "^Outline (12 of $(($(at outline all) - 1)) parts; " short_one
tap_case $? "and says of how many, all of which --json holds beside their root"
longleaf sum --method extractive --length 60 - < long.txt > from_dash
longleaf sum --method extractive --length 60 < long.txt > from_redirection
cat long.txt | longleaf sum --method extractive --length 60 > from_pipe
[ -s from_dash ] && cmp from_dash from_redirection && cmp from_dash from_pipe
tap_case $? "sum without a file reads what is piped or redirected into it"

# ---- models ----
ends 0 "models lists" longleaf models list --json
is "$(at models out)" 3 "what is in the folder"
is "$(longleaf models path)" "$LONGLEAF_MODELS" "models path prints the folder"
is "$(longleaf models path bare)" "$LONGLEAF_MODELS/bare.gguf" "or where a model is"
ends 0 "a model without a checksum is hashed" longleaf models verify toy
is "$(cut -d' ' -f1 out)" "$(sha256sum < "$LONGLEAF_MODELS/toy.gguf" | cut -d' ' -f1)" "with the sum that sha256sum gives"
sha256sum < "$LONGLEAF_MODELS/toy.gguf" > "$LONGLEAF_MODELS/toy.gguf.sha256"
ends 0 "a model with a checksum beside it is compared" longleaf models verify toy
holds out sound "and found sound"
printf x >> "$LONGLEAF_MODELS/toy.gguf"
refused 5 'is damaged' "a changed model is found out" longleaf models verify toy
refused 5 'models fetch' "the default model is missed with one sentence" longleaf models verify
tap_done
