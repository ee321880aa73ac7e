# Each kind of bad input: one sentence, the documented exit code, nothing on standard output.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
toy toy llama chat=chatml
echo 'Some text to read. It has two sentences.' > good.txt

# ---- models ----
refused 5 'longleaf models fetch' "no default model" longleaf run -p hi
LONGLEAF_MODEL=toy
export LONGLEAF_MODEL
refused 5 'there is no model' "a model that is not there" longleaf run -m nothing -p hi
head -c 2000 "$LONGLEAF_MODELS/toy.gguf" > cut.gguf
refused 5 '' "a truncated model" longleaf run -m ./cut.gguf -p hi
echo 'not a model at all' > text.gguf
refused 5 '' "a text as a model" longleaf run -m ./text.gguf -p hi
: > empty.gguf
refused 5 '' "an empty file as a model" longleaf info ./empty.gguf
mkdir folder.gguf
refused 5 '' "a folder as a model" longleaf info ./folder.gguf
mkfifo pipe.gguf
refused 5 'not a regular file' "a named pipe as a model is not waited for" longleaf info ./pipe.gguf
if [ "$(id -u)" -ne 0 ]; then
    cp "$LONGLEAF_MODELS/toy.gguf" locked.gguf
    chmod 0 locked.gguf
    refused 5 'ermission' "a model that may not be read" longleaf info ./locked.gguf
    cp good.txt locked.txt
    chmod 0 locked.txt
    refused 6 'ermission' "a document that may not be read" longleaf text locked.txt
else
    tap_skip "a model that may not be read" "root may read everything"
    tap_skip "a document that may not be read" "root may read everything"
fi
refused 2 'TOKEN=NUMBER' "a logit bias that is none" longleaf run -m toy -p hi -n 2 --logit-bias 5
echo 'root ::= root "a" | "b"' > left.gbnf
echo 'leaf ::= "a"' > rootless.gbnf
refused 2 'no rule' "a grammar without a root" longleaf run -m toy -p hi --grammar rootless.gbnf
refused 1 'left' "a grammar that recurses on its left" longleaf run -m toy -p hi --grammar left.gbnf
refused 2 'mirostat' "a version of mirostat that there is not" longleaf run -m toy -p hi --mirostat 3
refused 5 'nothing.gguf' "an adapter that is not there" longleaf run -m toy -p hi --adapter nothing.gguf
refused 5 'no adapter' "a model as an adapter" longleaf run -m toy -p hi --adapter "$LONGLEAF_MODELS/toy.gguf":0.5
refused 2 '' "a device that is none" longleaf run --device toaster -p hi

# ---- documents ----
for verb in text sum tokens ppl; do
    refused 6 'nowhere.txt' "$verb: a document that is not there" longleaf $verb nowhere.txt
    refused 6 'folder.gguf' "$verb: a folder as a document" longleaf $verb folder.gguf
    : > empty.txt
    refused 6 'empty.txt' "$verb: an empty document" longleaf $verb empty.txt
    head -c 4000 "$LONGLEAF_MODELS/toy.gguf" > binary.dat
    refused 6 'binary.dat' "$verb: a binary file" longleaf $verb binary.dat
    refused 6 'nowhere.txt' "$verb: one bad document among good ones" longleaf $verb good.txt nowhere.txt
done
mkdir mixed
cp good.txt mixed/
printf '%%PDF-1.4\nbroken' > mixed/broken.pdf
for verb in text tokens 'sum --method extractive' 'ask -q rivers?'; do
    # shellcheck disable=SC2086 # a verb with its options
    ends 3 "$verb: a folder with a broken file is not called fully read" longleaf $verb mixed
done
refused 6 'password file' "a password file that is empty" longleaf text --password-file empty.txt good.txt
refused 6 'nowhere' "a password file that is not there" longleaf text --password-file nowhere good.txt
refused 6 'nowhere.txt' "a prompt file that is not there" longleaf run -f nowhere.txt
refused 6 'folder.gguf' "a folder as a prompt" longleaf run -f folder.gguf
refused 6 'zero bytes' "a prompt without an end" longleaf run -f /dev/zero
refused 2 'choose one' "two forms of one answer" longleaf run -p hi --json --ndjson
refused 2 'outside 0' "so is one beyond 64 bits" longleaf run -p hi -n 99999999999999999999
longleaf run -m toy > out 2> err <&-
[ $? -eq 6 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ]
tap_case $? "closed standard input as the prompt"
tap_done
