# Kernel specs are installed, listed and removed, and nothing else is touched.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/jupyter/python.sh"
unset VIRTUAL_ENV CONDA_PREFIX
cd "$tap_dir" || exit 99
place=$HOME/.local/share/jupyter/kernels

# ends CODE NAME ARGUMENT…: longleaf-kernel ends with this code; its output is in out and err.
ends()
{
    wanted=$1 name=$2
    shift 2
    "$program" "$@" > out 2> err
    got=$?
    [ $got -eq "$wanted" ] || { echo "ended with $got, not $wanted: $*"; cat out err; } > "$tap_note"
    [ $got -eq "$wanted" ]
    tap_case $? "$name"
}

ends 0 "list without a spec is no error" list
[ ! -s out ] && grep -q 'longleaf-kernel install' err
tap_case $? "and says on the other stream how to get one"
ends 0 "install --user writes a spec" install --user
argv0=$(sed -n 's/^ *"\(\/.*longleaf-kernel\)",$/\1/p' "$place/longleaf/kernel.json")
[ -n "$argv0" ] && [ -x "$argv0" ]
tap_case $? "its program is named absolutely and is there"
for logo in logo-32x32.png logo-64x64.png logo-svg.svg; do
    cmp -s "$place/longleaf/$logo" "$top_srcdir/jupyter_kernel/$logo"
    tap_case $? "$logo lies beside it, byte for byte"
done
ends 0 "installing again replaces the spec" install --user
[ "$(find "$place" -mindepth 1 | wc -l)" -eq 5 ]
tap_case $? "nothing else is left in the folder"
"$top_builddir/tests/toy/make_toy" llama "$tap_dir/a model.gguf" chat=chatml || exit 99
ends 0 "a second spec for another model stands beside it" install --user --name second --display-name 'Two "quoted" é' \
    --model 'a model.gguf'
grep -qF "\"$tap_dir/a model.gguf\"" "$place/second/kernel.json"
tap_case $? "a model's file is named absolutely"
ends 0 "list shows both" list
[ "$(wc -l < out)" -eq 2 ] && grep -q '^second' out && grep -q '^longleaf' out
tap_case $? "one line each"
if kernel_python jupyter_client; then
    "$python" -c 'from jupyter_client.kernelspec import KernelSpecManager as M
specs = M().get_all_specs()
assert {"longleaf", "second"} <= set(specs), specs
assert specs["second"]["spec"]["display_name"] == "Two \"quoted\" \u00e9"
assert specs["longleaf"]["spec"]["interrupt_mode"] == "message"' > "$tap_note" 2>&1
    tap_case $? "jupyter_client finds both"
else
    tap_skip "jupyter_client finds both" "no Python here has jupyter_client (Debian: python3-jupyter-client)"
fi
ends 0 "uninstall removes the named one" uninstall --name second
ends 1 "a second time there is nothing to remove" uninstall --name second
[ ! -e "$place/second" ] && [ -e "$place/longleaf" ]
tap_case $? "and the other stays"
ends 0 "--prefix writes below the folder" install --prefix "$tap_dir/p q"
[ -s "$tap_dir/p q/share/jupyter/kernels/longleaf/kernel.json" ]
tap_case $? "in share/jupyter/kernels"
ends 1 "--sys-prefix needs an active environment" install --sys-prefix
VIRTUAL_ENV=$tap_dir/env
export VIRTUAL_ENV
ends 0 "--sys-prefix writes into the active environment" install --sys-prefix
[ -s "$tap_dir/env/share/jupyter/kernels/longleaf/kernel.json" ]
tap_case $? "and nowhere else"

mkdir -p "$place/python3"
echo '{"argv": ["python3"], "display_name": "Python", "language": "python"}' > "$place/python3/kernel.json"
ends 1 "another kernel's spec is not replaced" install --user --name python3
ends 1 "nor removed" uninstall --user --name python3
[ -s "$place/python3/kernel.json" ]
tap_case $? "it is as it was"
echo keep > "$place/longleaf/mine"
ends 1 "a folder with other files is not taken away" uninstall --user
[ -s "$place/longleaf/mine" ]
tap_case $? "and they stay"
for bad in '' . ../up 'a b' 'a/b' é; do
    ends 1 "no spec is named “$bad”" install --user --name "$bad"
done
ends 1 "a model that is not there is refused" install --user --name third --model nowhere.gguf
ends 2 "two places are one too many" install --user --prefix x
ends 2 "an unknown option is refused" install --colour
ends 2 "an unknown command is refused" instal
ends 2 "an option without its value is refused" install --name
ends 2 "without anything the usage is told"
ends 0 "--help is no error" --help
ends 0 "--version is no error" --version
tap_done
