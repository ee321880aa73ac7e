# Notebook programs of PyPI with the kernel, on a toy model; each is left out where it is not installed.
# SPDX-License-Identifier: Apache-2.0
# PYTHON names a Python of an environment that has them.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/jupyter/python.sh"
kernel_python jupyter_client || tap_skip_all "no Python here has jupyter_client (Debian: python3-jupyter-client)"
JUPYTER_DATA_DIR=$tap_dir/jupyter LL_LONG=
export JUPYTER_DATA_DIR LL_LONG
"$top_builddir/tests/toy/make_toy" llama "$tap_dir/toy.gguf" chat=chatml context=2048 layers=2 || exit 99
"$program" install --user --model "$tap_dir/toy.gguf" > "$tap_note" 2>&1 || tap_case 1 "the spec is installed"
"$python" "$top_srcdir/tests/jupyter/clients.py"
