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

# FILE BYTES-STORED BYTES-LOADED of each kernel, those of sm_80 apart
for log in "$top_builddir"/cuda/hopper_*.o.log "$top_builddir"/cuda/decode_*.o.log \
    "$top_builddir"/cuda/packed_*.o.log "$top_builddir"/cuda/fused_*.o.log; do
    awk -v file="${log##*/}" '/Compiling entry/ { older = /sm_80/ }
        /bytes spill/ && !older { print file, $5, $9 }' "$log"
done > "$tap_dir/spills"
[ "$(wc -l < "$tap_dir/spills")" -gt 40 ]
tap_case $? "the assembler's reports of the Hopper, decode and product kernels are found"
# Two exceptions, each before or behind the loop that takes the time: a pointer of decode with heads of 256, and
# three numbers that a one-row product of Q6_K puts aside while it stages its row.
awk '($1 == "decode_256.o.log" && $2 <= 4 && $3 <= 4) || ($1 == "fused_Q6_K.o.log" && $2 <= 48 && $3 <= 12) { next }
    $2 + $3 > 0' "$tap_dir/spills" > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "none of these kernels spills a register in its loop on Hopper and later"
tap_done
