# Finds a Python that has what the tests of the kernel need; sourced after tap.sh.
# SPDX-License-Identifier: Apache-2.0
#
#   kernel_python MODULE…    sets $python to one that imports them all; false: there is none
# $program is the kernel, past libtool's wrapper script, which takes longer to start.
kernel_python()
{
    imports=$(printf 'import %s\n' "$@")
    for python in "${PYTHON:-python3}" /usr/bin/python3; do
        "$python" -c "$imports" > /dev/null 2>&1 && return 0
    done
    return 1
}
program=$top_builddir/longleaf-kernel
if [ -x "$top_builddir/.libs/longleaf-kernel" ]; then
    program=$top_builddir/.libs/longleaf-kernel
    LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
mkdir -p "$tap_dir/home"
HOME=$tap_dir/home XDG_STATE_HOME=$tap_dir/home/state PYTHONDONTWRITEBYTECODE=1
export HOME XDG_STATE_HOME PYTHONDONTWRITEBYTECODE
unset XDG_CONFIG_HOME XDG_DATA_HOME LONGLEAF_MODEL JUPYTER_DATA_DIR JUPYTER_PATH JPY_PARENT_PID
