# The ALiBi tool from text to an adapter that the engine runs, on a model of three tiny layers.
# SPDX-License-Identifier: Apache-2.0
#
# PYTHON_TORCH names an interpreter that has torch and gguf; else python3.
. "$top_srcdir/tests/tap.sh"
python=${PYTHON_TORCH:-python3}
[ -z "$ll_sanitizers" ] || tap_skip_all "python3 cannot load a sanitized library"
command -v "$python" > /dev/null || tap_skip_all "$python is not installed"
"$python" -c 'import torch, gguf, safetensors' 2> /dev/null ||
    tap_skip_all "$python has no torch, gguf and safetensors (pip install -r tools/alibi/requirements.txt)"

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/tools/alibi:$top_srcdir/tests/peer OMP_NUM_THREADS=1 \
    "$python" "$top_srcdir/tools/alibi/check_alibi.py" --program "$top_builddir/longleaf" \
    --library "$top_builddir/.libs/liblongleaf.so" --base "$top_srcdir/tests/vectors/llama-grouped.gguf" \
    --work "$tap_dir"
