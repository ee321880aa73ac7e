# Writes the lists of longleaf.1, a page for each verb, longleaf.conf.5 and completion scripts from the program.
# SPDX-License-Identifier: Apache-2.0
# usage: update-docs.sh PROGRAM SOURCE_FOLDER [DESTINATION]
set -eu
program=$1 source=$2 destination=${3:-$2}
mkdir -p "$destination/docs/verbs" "$destination/repl/completion"
put() # FILE: standard input, whole or not at all
{
    cat > "$destination/$1.new"
    mv -f "$destination/$1.new" "$destination/$1"
}
page=$source/docs/longleaf.1
{
    sed '/^\.SH VERBS$/,$d' "$page"
    "$program" help roff
    sed -n '/^\.SH CONFIGURATION$/,$p' "$page"
} | put docs/longleaf.1
"$program" help completion bash | put repl/completion/longleaf
"$program" help completion zsh | put repl/completion/_longleaf
"$program" help completion fish | put repl/completion/longleaf.fish

page=$destination/docs/longleaf.1
title() { sed -n 's/^\.TH LONGLEAF 1/.TH '"$1"'/p' "$page"; }
# What the manual says of a verb: its paragraphs of DESCRIPTION, which begin with the verb in bold.
passage()
{
    awk -v verb="$1" '
        /^\.SH/ { inside = /^\.SH DESCRIPTION/ ; mine = 0; next }
        !inside { next }
        /^\.PP/ { pending = 1; next }
        pending { pending = 0; begins = ($1 == ".B"); if (begins) mine = ($2 == verb); if (mine && said++) print ".PP" }
        mine { print }' "$page"
}
# Its examples: those whose commands have the verb.
examples()
{
    awk -v verb="$1" '
        /^\.SH/ { inside = /^\.SH EXAMPLES/; text = ""; next }
        !inside || /^\.\\"/ { next }
        /^\.PP/ && text == "" { next }
        /^\.EX/ { found = 0 }
        { text = text $0 "\n"; if (index($0, "longleaf " verb)) found = 1 }
        /^\.EE/ { if (found) { printf "%s%s", said++ ? ".PP\n" : ".SH EXAMPLES\n", text } text = "" }' "$page"
}
see_also()
{
    echo ".SH EXIT STATUS"
    echo "As of"
    echo ".BR longleaf (1)."
    echo ".SH SEE ALSO"
    echo ".BR longleaf (1),"
    echo ".BR longleaf.conf (5)"
}
for verb in $("$program" help completion bash | sed -n 's/^    local verbs="\(.*\)"$/\1/p'); do
    {
        echo ".\\\" The verb $verb of longleaf; make update-docs writes this page from longleaf.1 and the program."
        echo '.\" SPDX-License-Identifier: Apache-2.0'
        title "LONGLEAF\\\\-$(echo "$verb" | tr 'a-z' 'A-Z') 1"
        "$program" help roff "$verb" | sed '/^\.SH OPTIONS$/,$d' | fold -s -w 79 | sed 's/ *$//'
        passage "$verb"
        "$program" help roff "$verb" | sed -n '/^\.SH OPTIONS$/,$p'
        examples "$verb"
        see_also
    } | put "docs/verbs/longleaf-$verb.1"
done
{
    echo '.\" The configuration file of longleaf; make update-docs writes this page from longleaf.1 and the program.'
    echo '.\" SPDX-License-Identifier: Apache-2.0'
    title "LONGLEAF.CONF 5"
    cat <<'END_ROFF'
.SH NAME
longleaf.conf \- the configuration file of longleaf
.SH SYNOPSIS
.I $XDG_CONFIG_HOME/longleaf/config
.br
.I ~/.config/longleaf/config
.SH DESCRIPTION
END_ROFF
    sed -n '/^\.SH CONFIGURATION$/,/^\.SH ENVIRONMENT$/p' "$page" | sed '1d;$d'
    "$program" help roff config
    cat <<'END_ROFF'
.SH EXAMPLES
.EX
# Answers vary, and windows are computed four at a time.
temp = 0.7
top\-p = 0.9
width = 4
system = "Answer in one sentence."
.EE
.SH SEE ALSO
.BR longleaf (1)
END_ROFF
} | put docs/longleaf.conf.5
