# The kernel by the letter of the protocol, on a toy model.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/jupyter/python.sh"
kernel_python zmq || tap_skip_all "no Python here has pyzmq (Debian: python3-zmq)"
"$top_builddir/tests/toy/make_toy" llama "$tap_dir/toy.gguf" chat=chatml context=2048 layers=2 || exit 99
TSAN_OPTIONS="${TSAN_OPTIONS:-}:suppressions=$top_srcdir/tests/jupyter/tsan.supp"
export TSAN_OPTIONS
"$python" "$top_srcdir/tests/jupyter/conformance.py" "$program" "$tap_dir/toy.gguf"
