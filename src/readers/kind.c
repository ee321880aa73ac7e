/* The kinds of documents and what tells them apart: content first, then the name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/kind.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "readers/json.h"
#include "readers/log.h"
#include "readers/table.h"

enum { LOOK = 64 << 10 /* bytes of a text that are looked at */ };

static const struct {
    const char *magic;
    size_t length;
    const char *name;
} formats[] = {
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8, "an old Office file (DOC, XLS, PPT)"},
    {"\x89PNG\r\n\x1A\n", 8, "a PNG picture"},
    {"\xFF\xD8\xFF", 3, "a JPEG picture"},
    {"GIF8", 4, "a GIF picture"},
    {"II*\0", 4, "a TIFF picture"},
    {"MM\0*", 4, "a TIFF picture"},
    {"7z\xBC\xAF\x27\x1C", 6, "a 7z archive"},
    {"Rar!\x1A\x07", 6, "a RAR archive"},
    {"\x7F"
     "ELF",
     4, "an ELF program"},
    {"SQLite format 3\0", 16, "an SQLite database"},
    {"GGUF", 4, "a GGUF model"},
    {"OggS", 4, "an Ogg recording"},
    {"ID3", 3, "an MP3 recording"},
    {"fLaC", 4, "a FLAC recording"},
    {"{\\rtf", 5, "an RTF file"},
    {"%!PS", 4, "a PostScript file"},
};

static const struct {
    const char *magic;
    size_t length, offset;
} archives[] = {
    {"PK\x03\x04", 4, 0},
    {"PK\x05\x06", 4, 0},
    {"\x1F\x8B", 2, 0},
    {"BZh", 3, 0},
    {"\xFD"
     "7zXZ\0",
     6, 0},
    {"\x28\xB5\x2F\xFD", 4, 0},
    {"ustar", 5, 257},
};

/* A PDF may carry junk before its header; readers look in the first kilobyte. */
static bool holds_pdf_header(const char *bytes, size_t length)
{
    size_t end = length < 1024 ? length : 1024;
    for (size_t i = 0; i + 5 <= end; i++)
        if (memcmp(bytes + i, "%PDF-", 5) == 0)
            return i == 0 || bytes[i - 1] == '\n' || bytes[i - 1] == '\r' ||
                   (unsigned char)bytes[i - 1] >= 0x80 || bytes[i - 1] == '\0';
    return false;
}

enum kind kind_of_bytes(const char *bytes, size_t length, const char **ret_name)
{
    if (holds_pdf_header(bytes, length))
        return KIND_PDF;
    for (size_t i = 0; i < sizeof archives / sizeof archives[0]; i++)
        if (length >= archives[i].offset + archives[i].length &&
            memcmp(bytes + archives[i].offset, archives[i].magic, archives[i].length) == 0)
            return KIND_ARCHIVE;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (length >= formats[i].length && memcmp(bytes, formats[i].magic, formats[i].length) == 0) {
            *ret_name = formats[i].name;
            return KIND_OTHER;
        }
    return KIND_TEXT;
}

struct marks {
    size_t titles, deep_titles, fences, links, strong;
    bool first_is_title;
};

static void look_at_line(const char *line, size_t length, bool first, struct marks *marks)
{
    size_t hashes = 0;
    while (hashes < length && hashes < 7 && line[hashes] == '#')
        hashes++;
    if (hashes >= 1 && hashes <= 6 && hashes + 1 < length && line[hashes] == ' ') {
        marks->titles++;
        marks->deep_titles += hashes >= 2;
        marks->first_is_title |= first && hashes == 1;
    }
    if (length >= 3 && (memcmp(line, "```", 3) == 0 || memcmp(line, "~~~", 3) == 0))
        marks->fences++;
    for (size_t i = 0; i + 1 < length && i < 2000; i++) {
        marks->links += line[i] == ']' && line[i + 1] == '(';
        marks->strong += line[i] == '*' && line[i + 1] == '*';
    }
}

bool kind_is_markdown(const char *text, size_t length)
{
    struct marks marks = {0};
    size_t end = length < (1u << 20) ? length : (1u << 20);
    bool first = true;
    if (end >= 2 && text[0] == '#' && text[1] == '!')
        return false;
    for (size_t at = 0; at < end;) {
        const char *newline = memchr(text + at, '\n', end - at);
        size_t line_end = newline ? (size_t)(newline - text) : end;
        if (line_end > at) {
            look_at_line(text + at, line_end - at, first, &marks);
            first = false;
        }
        at = line_end + 1;
    }
    /* One "# word" alone is as likely a comment of a script. */
    return marks.titles && (marks.first_is_title || marks.deep_titles || marks.fences >= 2 || marks.links ||
                            marks.strong >= 2);
}

/* ---- texts with a form of their own ----------------------------------------------------------- */

bool kind_name_ends(const char *name, const char *endings)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t length = strlen(base);
    for (const char *at = endings; *at;) {
        size_t n = strcspn(at, " ");
        bool whole = at[0] != '.'; /* "Makefile": the whole name */
        if ((whole ? length == n : length > n) && strncasecmp(base + length - n, at, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool begins_with(const char *text, size_t length, const char *what)
{
    size_t n = strlen(what);
    return length >= n && strncasecmp(text, what, n) == 0;
}

static bool is_html(const char *text, size_t length, const char *name)
{
    size_t at = 0;
    while (at < length && isspace((unsigned char)text[at]))
        at++;
    while (at < length &&
           (begins_with(text + at, length - at, "<?xml") || begins_with(text + at, length - at, "<!--"))) {
        const char *close = memchr(text + at, '>', length - at);
        at = close ? (size_t)(close - text) + 1 : length;
        while (at < length && isspace((unsigned char)text[at]))
            at++;
    }
    return begins_with(text + at, length - at, "<!doctype html") ||
           begins_with(text + at, length - at, "<html") || begins_with(text + at, length - at, "<head>") ||
           begins_with(text + at, length - at, "<body") ||
           (at < length && text[at] == '<' && kind_name_ends(name, ".html .htm .xhtml"));
}

/* Header lines of mail, several of those every message has. */
static bool is_mail(const char *text, size_t length)
{
    static const char *const known[] = {
        "from:",     "to:",          "subject:",      "date:",         "message-id:",
        "received:", "return-path:", "mime-version:", "delivered-to:", "content-type:"};
    size_t met = 0, lines = 0;
    for (size_t at = 0, end; at < length && lines < 200; at = end + 1, lines++) {
        const char *newline = memchr(text + at, '\n', length - at);
        end = newline ? (size_t)(newline - text) : length;
        if (end == at || text[at] == '\r')
            break;
        if (lines && (text[at] == ' ' || text[at] == '\t'))
            continue;
        size_t name = at;
        while (name < end && (isalnum((unsigned char)text[name]) || text[name] == '-'))
            name++;
        if (name == at || name >= end || text[name] != ':')
            return false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            met += begins_with(text + at, end - at, known[i]);
    }
    return met >= 3;
}

static bool is_mbox(const char *text, size_t length)
{
    const char *newline = begins_with(text, length, "From ") ? memchr(text, '\n', length) : NULL;
    size_t at = newline ? (size_t)(newline - text) + 1 : length;
    return at < length && is_mail(text + at, length - at);
}

static bool is_notebook(const char *text, size_t length, const char *name)
{
    return json_is_plausible(text, length, false) &&
           (kind_name_ends(name, ".ipynb") || (strstr(text, "\"cells\"") && strstr(text, "\"cell_type\"")));
}

static bool is_code(const char *text, size_t length, const char *name)
{
    static const char endings[] = ".c .h .cc .cpp .cxx .hh .hpp .cu .cuh .m .mm .py .pyi .rb .rs .go .java "
                                  ".kt .kts .scala .swift .cs .js "
                                  ".mjs .cjs .jsx .ts .tsx .vue .php .pl .pm .lua .sh .bash .zsh .fish .ps1 "
                                  ".r .jl .hs .ml .mli .ex .exs "
                                  ".erl .clj .lisp .el .scm .f .f90 .sql .zig .nim .d .dart .v .sv .vhd .s "
                                  ".asm .mk .cmake .am .ac .m4 .inc "
                                  ".gradle .proto .toml .yaml .yml .ini .cfg .conf .css .scss .tf .nix "
                                  "Makefile Dockerfile CMakeLists.txt";
    return kind_name_ends(name, endings) || begins_with(text, length, "#!");
}

/* text is NUL-terminated. */
enum kind kind_of_text(const char *text, size_t length, const char *name)
{
    size_t look = length < LOOK ? length : LOOK;
    bool json = json_is_plausible(text, look, false);
    if (is_html(text, look, name))
        return KIND_HTML;
    if (is_mbox(text, look))
        return KIND_MBOX;
    if (is_mail(text, look))
        return KIND_MAIL;
    if (is_notebook(text, look, name))
        return KIND_NOTEBOOK;
    if (is_code(text, look, name))
        return KIND_CODE;
    if (json_is_plausible(text, look, true) || kind_name_ends(name, ".jsonl .ndjson"))
        return KIND_JSONL;
    if (json && !kind_name_ends(name, ".md .txt"))
        return KIND_JSON;
    if (kind_is_markdown(text, length))
        return KIND_MARKDOWN;
    if (log_is_plausible(text, look, kind_name_ends(name, ".log")))
        return KIND_LOG;
    if (kind_name_ends(name, ".csv .tsv") ||
        (!kind_name_ends(name, ".md .txt") && table_is_plausible(text, look)))
        return KIND_TABLE;
    return kind_name_ends(name, ".md .markdown") ? KIND_MARKDOWN : KIND_TEXT;
}

enum structure kind_structure(enum kind kind)
{
    switch (kind) {
    case KIND_MARKDOWN:
    case KIND_NOTEBOOK:
        return STRUCTURE_MARKDOWN;
    case KIND_TEXT:
    case KIND_PDF:
        return STRUCTURE_GUESSED;
    default:
        return STRUCTURE_MARKED;
    }
}

static const char *const names[] = {
    "text", "markdown", "pdf",   "html", "docx",  "odt", "epub", "pptx",    "notebook",
    "mail", "mbox",     "table", "json", "jsonl", "log", "code", "archive", "other",
};

const char *kind_name(enum kind kind)
{
    return names[kind];
}

bool kind_from_name(const char *name, enum kind *ret)
{
    for (enum kind kind = KIND_TEXT; kind < KIND_OTHER; kind++)
        if (strcmp(name, names[kind]) == 0) {
            *ret = kind;
            return true;
        }
    return false;
}
