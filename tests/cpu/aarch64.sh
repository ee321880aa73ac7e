# The kernels of 64-bit Arm, cross-compiled and compared with the reference under an emulator.
# SPDX-License-Identifier: Apache-2.0
#
# The tests of this folder, built with gcc-aarch64-linux-gnu and run by qemu-user as three processors: one
# with plain Advanced SIMD, one with dot products, one with int8 matrix products. What they time means nothing.
. "$top_srcdir/tests/tap.sh"

# shellcheck disable=SC2154 # make check exports it
[ -z "$ll_sanitizers" ] || tap_skip_all "what it compiles takes no sanitizers; the plain build runs it"
cc=${LONGLEAF_AARCH64_CC:-aarch64-linux-gnu-gcc}
qemu=${LONGLEAF_AARCH64_RUN:-qemu-aarch64}
command -v "$cc" > /dev/null || tap_skip_all "$cc is not here (Debian package gcc-aarch64-linux-gnu)"
command -v "$qemu" > /dev/null || tap_skip_all "$qemu is not here (Debian package qemu-user)"

flags="-std=gnu11 -O2 -g -fno-math-errno -ffp-contract=off -Werror"
include="-I$top_srcdir/src -I$top_srcdir/tests -I$top_srcdir/tests/cpu/emulated -I$top_builddir"
kernel="-fno-trapping-math -ftree-vectorize"
objects=$tap_dir/objects
mkdir "$objects"

# compile NAME SOURCE FLAGS…
compile()
{
    name=$1 source=$2
    shift 2
    # shellcheck disable=SC2086,SC2068 # lists of words
    ${LONGLEAF_CCACHE-} "$cc" $flags $include $@ -c "$source" -o "$objects/$name.o" >> "$tap_note" 2>&1
}

compile_all()
{
    for source in "$top_srcdir"/src/base/*.c "$top_srcdir"/src/tensor/*.c "$top_srcdir"/src/cpu/*.c \
        "$top_srcdir"/src/cpu/fast/*.c "$top_srcdir"/src/cpu/reference/*.c; do
        case $source in
        */base/hash.c | */base/version.c | */base/database.c) continue ;; # need other libraries
        esac
        compile "$(echo "${source#"$top_srcdir/src/"}" | tr / -)" "$source" || return 1
    done
    for set in scalar: neon:-DKERNEL_NEON 'dotprod:-DKERNEL_NEON -march=armv8.2-a+dotprod' \
        'i8mm:-DKERNEL_NEON -march=armv8.2-a+dotprod+i8mm'; do
        for source in "$top_srcdir"/src/cpu/kernels/*.c; do
            compile "${set%%:*}-$(basename "$source")" "$source" "$kernel" "-DKERNEL_SUFFIX=${set%%:*}" \
                "${set#*:}" || return 1
        done
    done
}

# link_test NAME: the objects without those of other tests, as one static program
link_test()
{
    # shellcheck disable=SC2086 # lists of words
    "$cc" $flags $include -I"$top_srcdir/tests/cpu" -static "$top_srcdir/tests/cpu/$1.c" \
        "$top_srcdir/tests/cpu/harness.c" "$objects"/*.o -o "$tap_dir/$1" -lm -lpthread >> "$tap_note" 2>&1
}

compile_all
compiled=$?
tap_case $compiled "the CPU backends compile for 64-bit Arm without a warning"
[ $compiled -eq 0 ] || { tap_done; exit 1; }
# Emulated vectors are slow: what every kernel goes through, and the rest in the second tier.
for test in test_products test_rows test_attention; do
    only=
    if [ -z "$LL_LONG" ]; then
        case $test in
        test_products) only=every_type ;;
        test_attention) only=ragged ;;
        esac
    fi
    link_test $test
    tap_case $? "$test links as a program of 64-bit Arm"
    [ -x "$tap_dir/$test" ] || continue
    for processor in cortex-a53:neon cortex-a76:dotprod max:i8mm; do
        LL_EMULATED=1 LL_ONLY=$only LL_SET=${processor#*:} "$qemu" -cpu "${processor%%:*}" "$tap_dir/$test" > "$tap_note" 2>&1 &&
            ! grep -q 'not to be had' "$tap_note"
        tap_case $? "${test#test_} of the ${processor#*:} kernels agree with the reference"
    done
done
tap_done
