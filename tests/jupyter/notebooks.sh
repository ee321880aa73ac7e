# The shipped notebooks run unattended by nbclient, on the default model.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/model.sh"
LONGLEAF_MODELS=$(dirname "${default_model:-/nonexistent/model}")
export LONGLEAF_MODELS
. "$top_srcdir/tests/jupyter/python.sh"
[ -n "$default_model" ] || tap_skip_all "the default model is not here (longleaf models fetch)"
kernel_python nbclient nbformat || tap_skip_all "no Python here has nbclient (Debian: python3-nbclient)"
JUPYTER_DATA_DIR=$tap_dir/jupyter
export JUPYTER_DATA_DIR
"$program" install --user > "$tap_note" 2>&1 || tap_case 1 "the spec is installed"
"$python" "$top_srcdir/tests/jupyter/notebooks.py" "$top_srcdir/docs/notebooks" ${NOTEBOOKS_KEPT:+"$NOTEBOOKS_KEPT"}
