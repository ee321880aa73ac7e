# Reads LAYERS, then sources; prints every include that LAYERS does not allow.
# SPDX-License-Identifier: Apache-2.0
# Variable: check = upward | frontend. First file: LAYERS. Sources are named relative to the top.

# src/cpu/reference/x.c is in the room src/cpu; includes say it without src/.
function folder(path,   parts) {
    if (split(path, parts, "/") < 2) return ""
    return parts[1] == "src" && parts[3] != "" ? "src/" parts[2] : parts[1]
}
function room(path) { sub(/^src\//, "", path); return path }
function complain(what) { print FILENAME ":" FNR ": " what }

FNR == 1 { place = folder(FILENAME); own = room(place) }
FILENAME ~ /(^|\/)LAYERS$/ {
    if (/^[ \t]*(#|$)/) next
    split($0, halves, ":")
    name = room(halves[1]); listed[halves[1]] = 1; may[name, name] = 1
    count = split(halves[2], below, " ")
    for (i = 1; i <= count; i++) {
        if (!(below[i] in known) && check == "upward")
            complain(name " may include " below[i] ", which stands above it or nowhere")
        may[name, below[i]] = 1
    }
    known[name] = 1
    next
}
FNR == 1 && place != "src" && !(place in listed) && check == "upward" { complain("folder " place " is not in LAYERS") }
/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target); sub(/".*$/, "", target)
    if (target == "longleaf.h" || target == "config.h") next
    if (target !~ /\//) {
        if (check == "upward") complain("\"" target "\" does not name its folder")
        next
    }
    aim = folder(target)
    if (check == "upward" && !((own, aim) in may)) complain(own " includes \"" target "\", and LAYERS does not allow " aim)
    if (check == "frontend" && own ~ /^(console|repl|jupyter_kernel)$/ && aim !~ /^(console|repl|jupyter_kernel)$/)
        complain(own " includes \"" target "\", which is not public")
}
