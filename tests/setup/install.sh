# What make install puts down is complete, usable through pkg-config, and free of the build folder's name.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
stage=$tap_dir/stage
cd "$top_builddir" || exit 99
prefix=$(sed -n 's/^prefix = //p' Makefile)

make install DESTDIR="$stage" > "$tap_note" 2>&1
installed=$?
tap_note_lines=400
[ $installed -eq 0 ] || tail -n 30 "$tap_note" > "$tap_dir/.tail"
[ $installed -eq 0 ] || mv "$tap_dir/.tail" "$tap_note"
tap_case $installed "make install DESTDIR= succeeds"

for file in include/longleaf.h lib/liblongleaf.so lib/pkgconfig/longleaf.pc libexec/longleaf/fetch-model.sh \
    bin/longleaf share/man/man1/longleaf.1 share/man/man3/longleaf.3 \
    bin/longleaf-kernel share/man/man1/longleaf-kernel.1 share/jupyter/kernels/longleaf/kernel.json \
    share/jupyter/kernels/longleaf/logo-svg.svg share/jupyter/kernels/longleaf/logo-64x64.png \
    share/bash-completion/completions/longleaf share/doc/longleaf/README.md; do
    [ -s "$stage$prefix/$file" ]
    tap_case $? "$file is installed"
done
grep -qF "\"$prefix/bin/longleaf-kernel\"" "$stage$prefix/share/jupyter/kernels/longleaf/kernel.json"
tap_case $? "the kernel's spec names the installed program absolutely"
find "$stage" -name '*.la' -o -name '*.a' > "$tap_dir/extra"
[ -x "$stage$prefix/libexec/longleaf/fetch-model.sh" ]
tap_case $? "the script that fetches the model can be executed"

if command -v pkg-config > /dev/null; then
    export PKG_CONFIG_PATH="$stage$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$stage"
    printf '#include <longleaf.h>\n#include <string.h>\nint main(void) { return strcmp(ll_version(), "%s") != 0; }\n' \
        "$(pkg-config --modversion longleaf)" > "$tap_dir/user.c"
    # shellcheck disable=SC2046,SC2086 # flags are lists
    ${CC:-cc} ${ll_sanitizers:-} -o "$tap_dir/user" "$tap_dir/user.c" $(pkg-config --cflags --libs longleaf) 2> "$tap_note" &&
        LD_LIBRARY_PATH="$stage$prefix/lib" "$tap_dir/user"
    tap_case $? "a program finds header and library through pkg-config and runs with them"
fi

# A stand-in says whether the system's cache of libraries would be renewed: by root, and not for a stage.
mkdir "$tap_dir/bin"
printf '#!/bin/sh\necho renewed >> "%s"\n' "$tap_dir/renewed" > "$tap_dir/bin/ldconfig"
chmod +x "$tap_dir/bin/ldconfig"
PATH="$tap_dir/bin:$PATH" make install-exec-hook DESTDIR="$stage" > "$tap_note" 2>&1
[ ! -e "$tap_dir/renewed" ]
tap_case $? "a staged install leaves the cache of libraries alone"
PATH="$tap_dir/bin:$PATH" make install-exec-hook DESTDIR= > "$tap_note" 2>&1
if [ "$(id -u)" -eq 0 ]; then [ -s "$tap_dir/renewed" ]; else [ ! -e "$tap_dir/renewed" ]; fi
tap_case $? "an install by root renews it, so that the program finds its library at once"

# Debugging information names the build folder rightly; what a person sees must not.
for file in $(find "$stage" -type f ! -name '*.la' | sort); do
    case $(head -c 4 "$file" | tr -d '\0') in
    ?ELF) strip -o "$tap_dir/bare" "$file" 2> /dev/null && set -- "$tap_dir/bare" || continue ;;
    *) set -- "$file" ;;
    esac
    if [ -z "${ll_sanitizers:-}" ] && grep -qaF -e "$top_builddir" -e "$stage" "$1"; then echo "$file"; fi
done > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "no installed file names the build folder"
tap_done
