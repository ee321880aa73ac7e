# longleaf.h compiles by itself as C99, C11 and C++17, pedantically and without a warning.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"

compiles()
{
    printf '#include "longleaf.h"\n#include "longleaf.h"\nint main(void) { return ll_api_version() != LL_API_VERSION; }\n' \
        > "$tap_dir/user.$3"
    $1 -std="$2" -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$top_srcdir/src" "$tap_dir/user.$3" 2> "$tap_note"
    tap_case $? "the public header is clean as $4"
}

compiles "${CC:-cc}" c99 c C99
compiles "${CC:-cc}" c11 c C11
if command -v "${CXX:-c++}" > /dev/null; then
    compiles "${CXX:-c++}" c++17 cc C++17
else
    tap_skip "the public header is clean as C++17" "no C++ compiler is installed"
fi
tap_done
