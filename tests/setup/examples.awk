# Takes the marked examples out of a Markdown file or a man page, one file each.
# SPDX-License-Identifier: Apache-2.0
#
# Variable: into, a folder. Written there: N.sh or N.c, N.expect with a fragment a line, N.from with its place.
# Markdown: a block fenced by ```sh run, and after it <!-- expect: FRAGMENT -->, as many as wanted.
# Man page: a block between .EX and .EE, or .Bd -literal and .Ed, under the comment .\" run (shell) or .\" compile (C), with
# .\" expect: FRAGMENT before or after it.

function start(kind) {
    count++; name = into "/" count; inside = 1
    script = name (kind == "compile" ? ".c" : ".sh")
    printf "" > script; printf "" > (name ".expect")
    file = FILENAME; sub(/^.*\//, "", file)
    print file ":" FNR > (name ".from")
}
function plain(line) { # what man shows of a line of roff
    gsub(/\\-/, "-", line); gsub(/\\&/, "", line); gsub(/\\\(aq/, "'", line); gsub(/\\\(dq/, "\"", line)
    gsub(/\\\(ti/, "~", line); gsub(/\\\(ha/, "^", line); gsub(/\\e/, "\\", line)
    return line
}

/^```sh run *$/ { start("run"); next }
inside && (/^```/ || /^\.E[Ed] *$/) { inside = 0; close(script); next }
inside { print plain_text ? plain($0) : $0 > script; next }
/^\.\\" (run|compile) *$/ { wanted = $2; pending = ""; next }
/^\.(EX|Bd -literal)/ && wanted != "" { plain_text = 1; start(wanted); wanted = ""; printf "%s", pending > (name ".expect"); next }
/^<!-- expect: .* -->$/ || /^\.\\" expect: / {
    fragment = $0; sub(/^(<!--|\.\\") expect: /, "", fragment); sub(/ -->$/, "", fragment)
    if (wanted != "") pending = pending fragment "\n"
    else if (count) print fragment > (name ".expect")
}
