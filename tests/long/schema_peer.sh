#!/bin/sh
# Answers under random JSON schemas against the jsonschema library, fetched from PyPI once for each build folder.
# SPDX-License-Identifier: Apache-2.0
top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
venv=$top_builddir/tests/schema-venv

skip()
{
    echo "1..0 # SKIP $1"
    exit 0
}

models=${LONGLEAF_MODELS:-${XDG_DATA_HOME:-$HOME/.local/share}/longleaf/models}
[ -r "$models/SmolLM2-135M-Instruct.Q4_1.gguf" ] || skip "the default model is not here: longleaf models fetch"
if ! "$venv/bin/python" -c 'import jsonschema' 2>/dev/null; then
    command -v python3 >/dev/null || skip "there is no python3"
    python3 -m venv "$venv" >/dev/null 2>&1 || skip "python3 -m venv does not work (Debian package python3-venv)"
    "$venv/bin/pip" install -q jsonschema==4.25.1 >"$venv/build.log" 2>&1 || skip "jsonschema cannot be fetched"
fi
exec "$venv/bin/python" "$top_srcdir/tests/long/schema_peer.py" "$top_builddir/longleaf" "$top_builddir/tests"
