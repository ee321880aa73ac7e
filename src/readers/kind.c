/* What a file is, told by its first bytes and never by its name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "readers/kind.h"

#include <string.h>

static const struct {
    const char *magic;
    size_t length;
    const char *name;
} formats[] = {
    {"PK\x03\x04", 4, "a ZIP archive (or a DOCX, EPUB, ODT, XLSX file)"},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8, "an old Office file (DOC, XLS, PPT)"},
    {"\x89PNG\r\n\x1A\n", 8, "a PNG picture"},
    {"\xFF\xD8\xFF", 3, "a JPEG picture"},
    {"GIF8", 4, "a GIF picture"},
    {"II*\0", 4, "a TIFF picture"},
    {"MM\0*", 4, "a TIFF picture"},
    {"\x1F\x8B", 2, "a gzip archive"},
    {"BZh", 3, "a bzip2 archive"},
    {"\xFD"
     "7zXZ\0",
     6, "an xz archive"},
    {"\x28\xB5\x2F\xFD", 4, "a zstd archive"},
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

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"text", "markdown", "pdf", "other"};
    return names[kind];
}

bool kind_from_name(const char *name, enum kind *ret)
{
    for (enum kind kind = KIND_TEXT; kind <= KIND_PDF; kind++)
        if (strcmp(name, kind_name(kind)) == 0) {
            *ret = kind;
            return true;
        }
    return false;
}
