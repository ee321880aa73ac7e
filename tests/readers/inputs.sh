# What people feed in: each kind of input is made by Python, read by `longleaf text`, and looked at.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/program/program.sh"
command -v python3 > /dev/null || tap_skip_all "python3 is not installed"
for part in "$top_srcdir"/tests/readers/inputs_*.py; do
    set -- "$@" "$part"
done
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/tests/readers python3 -B "$top_srcdir/tests/readers/inputs.py" "$@"
