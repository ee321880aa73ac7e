# The CUDA plug-in shows its table alone, needs no CUDA library to open, and its hot kernels do not spill.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
plugin=$top_builddir/cuda/longleaf_cuda.so
[ -e "$plugin" ] || tap_skip_all "no CUDA plug-in in this build"
command -v nm > /dev/null || tap_skip_all "nm is not installed"

nm -D --defined-only "$plugin" | awk '$2 != "A" { print $3 }' > "$tap_note"
[ "$(cat "$tap_note")" = longleaf_backend_1 ]
tap_case $? "the plug-in exports longleaf_backend_1 and nothing else"

ldd "$plugin" > "$tap_note"
! grep -Eq 'libcuda|libcudart|libstdc|not found' "$tap_note"
tap_case $? "it needs neither CUDA's libraries nor the C++ library at run time"

cat "$top_builddir"/cuda/hopper_*.o.log "$top_builddir"/cuda/decode_*.o.log "$top_builddir"/cuda/fused_*.o.log |
    awk '/Compiling entry/ { older = /sm_80/ } /bytes spill/ { print older ? "older" : "current", $0 }' > "$tap_dir/spills"
[ "$(wc -l < "$tap_dir/spills")" -gt 40 ]
tap_case $? "the assembler's reports of the Hopper, decode and product kernels are found"
grep '^current' "$tap_dir/spills" | grep -v ' 0 bytes spill stores, 0 bytes spill loads' > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "none of these kernels spills a register on Hopper and later"
tap_done
