# Writes the C source that holds the kernel's logos: each file's bytes and name.
# SPDX-License-Identifier: Apache-2.0
#
# usage: logos.sh FILE…
set -eu
echo '/* The logos of the kernel, made by jupyter_kernel/logos.sh from the files beside it.'
echo ' * SPDX-License-Identifier: Apache-2.0 */'
echo '#include "jupyter_kernel/logos.h"'
number=0
for file; do
    echo "static const unsigned char logo_$number[] = {"
    od -An -v -tx1 "$file" | sed 's/ \(..\)/0x\1,/g'
    echo '};'
    number=$((number + 1))
done
echo 'const struct logo logos[LOGO_COUNT] = {'
number=0
for file; do
    echo "    {\"${file##*/}\", logo_$number, sizeof logo_$number},"
    number=$((number + 1))
done
echo '};'
