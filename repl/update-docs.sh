# Writes the lists of longleaf.1 and the completion script anew from the program's tables.
# SPDX-License-Identifier: Apache-2.0
# usage: update-docs.sh PROGRAM SOURCE_FOLDER
set -eu
program=$1 source=$2
page=$source/docs/longleaf.1
{
    sed '/^\.SH VERBS$/,$d' "$page"
    "$program" help roff
    sed -n '/^\.SH CONFIGURATION$/,$p' "$page"
} > "$page.new"
mv -f "$page.new" "$page"
"$program" help completion > "$source/repl/completion/longleaf.new"
mv -f "$source/repl/completion/longleaf.new" "$source/repl/completion/longleaf"
