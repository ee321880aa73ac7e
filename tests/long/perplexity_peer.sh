#!/bin/sh
# Perplexity and greedy text against llama.cpp, built from llama-cpp-python's sdist beside the build.
# SPDX-License-Identifier: Apache-2.0
#
# LONGLEAF_PEER_PYTHON names an interpreter that has llama_cpp already; LONGLEAF_MODEL the model. The
# network is used only to fetch and build the peer, once for each build folder.
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
peer=llama-cpp-python==0.3.36
venv=$top_builddir/tests/peer-venv

skip()
{
    echo "1..0 # SKIP $1"
    exit 0
}

make_peer()
{
    command -v python3 >/dev/null || skip "there is no python3"
    python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 -m venv does not work (Debian package python3-venv)"
    CMAKE_ARGS=-DGGML_NATIVE=ON "$venv/bin/pip" install -q --no-binary llama-cpp-python "$peer" \
        >"$venv/build.log" 2>&1 || skip "$peer cannot be built (see $venv/build.log)"
}

python=$LONGLEAF_PEER_PYTHON
if [ -z "$python" ]; then
    python=$venv/bin/python
    "$python" -c 'import llama_cpp' 2>/dev/null || make_peer
fi
models=${LONGLEAF_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/longleaf/models}
model=${LONGLEAF_MODEL:-$models/SmolLM2-135M-Instruct.Q4_1.gguf}
[ -r "$model" ] || skip "the default model is not here: longleaf models fetch"
[ -x "$top_builddir/longleaf" ] && program="--program $top_builddir/longleaf"

# shellcheck disable=SC2086 # program is two words or none
exec "$python" "$top_srcdir/tests/long/perplexity_peer.py" --library "$top_builddir/.libs/liblongleaf.so" \
    $program --model "$model" --work "$top_builddir/tests" --threads "${LONGLEAF_THREADS:-2}"
