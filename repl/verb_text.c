/* text: exactly the text that a model would be given of the documents.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/documents.h"
#include "repl/json.h"
#include "repl/verbs.h"

/* Where the section's first byte stands in its file, and in which part of it, when that is known. */
static void put_source(json_t *row, const ll_document *document, uint64_t byte)
{
    size_t file;
    uint64_t source;
    if (ll_document_get_source(document, byte, &file, &source) == LL_OK) {
        json_put_count(row, "file", file);
        json_put_count(row, "source_byte", source);
    }
    const char *part;
    if (ll_document_get_part(document, byte, &part) == LL_OK)
        json_put_string(row, "part", part);
}

static json_t *section_json(const ll_document *document, const ll_section *section)
{
    json_t *row = json_object();
    json_put_string(row, "title", section->title);
    json_put_count(row, "level", (uint64_t)section->level);
    json_put_count(row, "first_byte", section->first_byte);
    json_put_count(row, "last_byte", section->last_byte);
    json_put_count(row, "first_page", section->first_page);
    json_put_count(row, "last_page", section->last_page);
    put_source(row, document, section->first_byte);
    return row;
}

static json_t *files_json(const ll_document *document)
{
    json_t *rows = json_array();
    ll_file file;
    for (size_t i = 0; ll_document_get_file(document, i, &file) == LL_OK; i++) {
        json_t *row = json_object();
        json_put_string(row, "name", file.name);
        json_put_string(row, "kind", file.kind);
        json_put_count(row, "first_byte", file.first_byte);
        json_put_count(row, "last_byte", file.last_byte);
        json_put_count(row, "source_bytes", file.source_bytes);
        json_put_count(row, "pages", file.pages);
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *document_json(const ll_document *document)
{
    ll_document_info info = {0};
    ll_document_get_info(document, &info);
    json_t *object = json_object(), *sections = json_array();
    json_put_string(object, "title", info.title);
    json_put_string(object, "kind", info.kind);
    json_put_string(object, "encoding", info.encoding);
    json_put_count(object, "pages", info.pages);
    json_put_count(object, "unread_pages", info.unread_pages);
    json_put_count(object, "skipped", info.skipped);
    json_put_count(object, "paragraphs", info.paragraphs);
    json_put_count(object, "source_bytes", info.source_bytes);
    json_put_count(object, "bytes", info.bytes);
    for (size_t i = 0; i < info.sections; i++) {
        ll_section section;
        if (ll_document_get_section(document, i, &section) == LL_OK)
            json_array_append_new(sections, section_json(document, &section));
    }
    json_object_set_new(object, "files", files_json(document));
    json_object_set_new(object, "sections", sections);
    json_object_set_new(object, "notes", documents_notes(document));
    size_t length;
    const char *text = ll_document_text(document, &length);
    json_put_text(object, "text", text, length);
    return object;
}

int verb_text(struct program *program)
{
    ll_document *document = NULL;
    int code = documents_open(program, (const char *const *)program->operands, (size_t)program->operand_count,
                              &document);
    if (code)
        return code;
    if (settings_flag(&program->settings, OPTION_JSON)) {
        json_print(&program->output, document_json(document), JSON_INDENT(2));
    } else {
        size_t length;
        const char *text = ll_document_text(document, &length);
        output_write(&program->output, text, length);
        if (program->output.terminal)
            output_end_line(&program->output);
    }
    code = documents_covered(document);
    ll_document_close(document);
    return code;
}
