/* Magics of documents: attach, list, summarise, plan, cite.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "console/files.h"
#include "console/human.h"
#include "jupyter_kernel/curve.h"
#include "jupyter_kernel/digest.h"
#include "jupyter_kernel/inquiry.h"
#include "jupyter_kernel/magic.h"

static void describe(const ll_document *document, struct text *out)
{
    ll_document_info info = {0};
    ll_document_get_info(document, &info);
    text_printf(out, "%s, %s", info.kind ? info.kind : "text", human_bytes(info.bytes).text);
    if (info.pages)
        text_printf(out, ", %s page%s", human_count(info.pages).text, info.pages == 1 ? "" : "s");
    if (info.unread_pages)
        text_printf(out, " (%zu hold no text)", info.unread_pages);
}

static json_t *document_json(const struct talk_document *document)
{
    ll_document_info info = {0};
    ll_document_get_info(document->document, &info);
    json_t *row = json_object();
    json_put_string(row, "path", document->path);
    json_put_string(row, "kind", info.kind);
    json_put_count(row, "bytes", info.bytes);
    json_put_count(row, "pages", info.pages);
    json_put_count(row, "unread_pages", info.unread_pages);
    return row;
}

static void say_attached(const struct talk_document *document, struct text *line)
{
    text_printf(line, "%s%s is attached: ", line->length ? "\n" : "", document->path);
    describe(document->document, line);
    for (size_t i = 0; i < ll_document_note_count(document->document); i++)
        text_printf(line, "; %s", ll_document_note(document->document, i));
}

bool magic_load(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text line = {0};
    struct files files;
    if (!call->argument_length) {
        output_fail(turn->output, FAIL_USAGE, "%%load needs the name of a file after it");
        return false;
    }
    json_t *rows = json_array();
    bool ok = files_read(&files, call->argument);
    if (!ok)
        output_fail(turn->output, FAIL_USAGE, "no memory for the names of files");
    for (size_t i = 0; ok && i < files.count; i++)
        if ((ok = talk_attach(turn, files.paths[i]))) {
            const struct talk_document *document = &turn->talk->documents[turn->talk->document_count - 1];
            say_attached(document, &line);
            json_array_append_new(rows, document_json(document));
        }
    if (ok) {
        *ret = bundle_line("%s", text_string(&line));
        json_put(*ret, "application/json", json_incref(files.count == 1 ? json_array_get(rows, 0) : rows));
    }
    json_decref(rows);
    files_fini(&files);
    text_fini(&line);
    return ok;
}

bool magic_docs(struct turn *turn, const struct call *call, json_t **ret)
{
    const struct talk *talk = turn->talk;
    struct text plain = {0}, markdown = {0};
    json_t *rows = json_array();
    (void)call;
    if (!talk->document_count) {
        text_puts(&plain, "no document is attached; %load FILE attaches one");
        text_puts(&markdown, "no document is attached; `%load FILE` attaches one");
    }
    for (size_t i = 0; i < talk->document_count; i++) {
        struct text line = {0};
        describe(talk->documents[i].document, &line);
        text_printf(&plain, "%s%s: %s", i ? "\n" : "", talk->documents[i].path, text_string(&line));
        text_puts(&markdown, "- ");
        markdown_append(&markdown, talk->documents[i].path, strlen(talk->documents[i].path));
        text_printf(&markdown, ": %s\n", text_string(&line));
        json_array_append_new(rows, document_json(&talk->documents[i]));
        text_fini(&line);
    }
    *ret = bundle_new(text_string(&plain), plain.length);
    bundle_add(*ret, "text/markdown", &markdown);
    json_put(*ret, "application/json", json_pack("{s:o}", "documents", rows));
    text_fini(&plain);
    text_fini(&markdown);
    return true;
}

/* ---- what a summary or a plan is of: the body, a file, or what is attached ---- */

typedef bool (*digest_fn)(struct turn *turn, const ll_document *document, const char *name, json_t **ret);

static bool of_body(struct turn *turn, const struct call *call, digest_fn digest, json_t **ret)
{
    ll_document *document = NULL;
    ll_error error = {0};
    if (ll_document_from_text(call->body, call->body_length, NULL, &document, &error) != LL_OK) {
        output_fail_error(turn->output, FAIL_DOCUMENT, &error);
        return false;
    }
    bool ok = digest(turn, document, call->argument_length ? call->argument : "the cell's text", ret);
    ll_document_close(document);
    return ok;
}

static bool of_file(struct turn *turn, const char *path, digest_fn digest, json_t **ret)
{
    ll_document *document = talk_read(turn, path);
    bool ok = document && digest(turn, document, path, ret);
    ll_document_close(document);
    return ok;
}

/* Every bundle but the last is shown as it comes. */
static bool of_attached(struct turn *turn, digest_fn digest, json_t **ret)
{
    const struct talk *talk = turn->talk;
    for (size_t i = 0; i < talk->document_count; i++) {
        if (*ret)
            output_display(turn->output, *ret, NULL, false);
        *ret = NULL;
        if (!digest(turn, talk->documents[i].document, talk->documents[i].path, ret))
            return false;
    }
    return true;
}

static bool of_call(struct turn *turn, const struct call *call, digest_fn digest, json_t **ret)
{
    if (call->body_length)
        return of_body(turn, call, digest, ret);
    if (call->argument_length)
        return of_file(turn, call->argument, digest, ret);
    if (turn->talk->document_count)
        return of_attached(turn, digest, ret);
    output_fail(
        turn->output, FAIL_USAGE,
        "%%%s has nothing to read: name a file after it, attach one with %%load, or write %%%%%s and the "
        "text below it",
        call->name, call->name);
    return false;
}

bool magic_sum(struct turn *turn, const struct call *call, json_t **ret)
{
    return of_call(turn, call, digest_summarise, ret);
}

bool magic_plan(struct turn *turn, const struct call *call, json_t **ret)
{
    if (!call->body_length && !call->argument_length && !turn->talk->document_count)
        return curve_show(turn, ret);
    return of_call(turn, call, digest_plan, ret);
}

/* ---- questions ---- */

/* All attached files as one document: read again, so that each page knows its file. */
static bool ask_files(struct turn *turn, const char *question, json_t **ret)
{
    const struct talk *talk = turn->talk;
    const char **paths = calloc(talk->document_count + 1, sizeof *paths);
    size_t count = 0;
    for (size_t i = 0; paths && i < talk->document_count; i++)
        if (!talk->documents[i].from_cell)
            paths[count++] = talk->documents[i].path;
    if (!paths)
        output_fail(turn->output, FAIL_MEMORY, "there is no memory to ask the documents");
    ll_document *document = count ? talk_read_all(turn, paths, count) : NULL;
    bool ok = paths && (!count || (document && inquiry_answer(turn, document, question, ret)));
    ll_document_close(document);
    free(paths);
    return ok;
}

/* Texts of cells are in no file, so each of them answers for itself; every bundle but the last is shown as it
 * comes. */
static bool ask_texts(struct turn *turn, const char *question, json_t **ret)
{
    const struct talk *talk = turn->talk;
    for (size_t i = 0; i < talk->document_count; i++) {
        if (!talk->documents[i].from_cell)
            continue;
        if (*ret)
            output_display(turn->output, *ret, NULL, false);
        *ret = NULL;
        output_display(turn->output, bundle_line("%s:", talk->documents[i].path), NULL, false);
        if (!inquiry_answer(turn, talk->documents[i].document, question, ret))
            return false;
    }
    return true;
}

bool magic_ask(struct turn *turn, const struct call *call, json_t **ret)
{
    struct text question = {0};
    if (!turn->talk->document_count) {
        output_fail(turn->output, FAIL_USAGE, "there is no document to ask; %%load FILE attaches one");
        return false;
    }
    text_append(&question, call->argument, call->argument_length);
    if (call->body_length) {
        text_puts(&question, question.length ? "\n" : "");
        text_append(&question, call->body, call->body_length);
    }
    bool ok = false;
    if (!question.length)
        output_fail(turn->output, FAIL_USAGE, "%%ask needs a question after it, or %%%%ask one below it");
    else if (question.failed || strlen(question.bytes) != question.length)
        output_fail(turn->output, FAIL_USAGE, "%%ask: a NUL character stands in the question");
    else
        ok = ask_files(turn, text_string(&question), ret) && ask_texts(turn, text_string(&question), ret);
    text_fini(&question);
    return ok;
}

/* ---- citations ---- */

bool magic_cite(struct turn *turn, const struct call *call, json_t **ret)
{
    const json_t *passages = turn->talk->passages;
    size_t count = json_array_size(passages);
    char *end = NULL;
    long number = strtol(call->argument, &end, 10);
    if (!count) {
        output_fail(turn->output, FAIL_USAGE,
                    "nothing was summarised or asked yet; %%summarize FILE and %%ask give sentences to cite");
        return false;
    }
    if (!call->argument_length || *end || number < 1 || (size_t)number > count) {
        output_fail(turn->output, FAIL_USAGE, "%%cite takes the number of a sentence, 1 to %zu", count);
        return false;
    }
    json_t *row = json_array_get(passages, (size_t)number - 1);
    const json_t *pages = json_object_get(row, "pages");
    json_int_t first = json_integer_value(json_array_get(pages, 0)),
               last = json_integer_value(json_array_get(pages, 1));
    struct text plain = {0}, markdown = {0}, place = {0};
    text_puts(&place, json_get_string(row, "document", NULL));
    if (first && last > first)
        text_printf(&place, ", pages %lld-%lld", (long long)first, (long long)last);
    else if (first)
        text_printf(&place, ", page %lld", (long long)first);
    size_t length = 0;
    const char *passage = json_get_string(row, "passage", &length);
    const char *more = json_get_bool(row, "cut", false) ? " …" : "";
    text_printf(&plain, "%s:\n%s%s", text_string(&place), passage, more);
    markdown_append(&markdown, text_string(&place), place.length);
    text_puts(&markdown, ":\n\n> ");
    struct text quoted = {0};
    markdown_append(&quoted, passage, length);
    for (size_t i = 0; i < quoted.length; i++) {
        text_putc(&markdown, quoted.bytes[i]);
        if (quoted.bytes[i] == '\n')
            text_puts(&markdown, "> ");
    }
    text_puts(&markdown, more);
    *ret = bundle_new(text_string(&plain), plain.length);
    bundle_add(*ret, "text/markdown", &markdown);
    json_put(*ret, "application/json", json_incref(row));
    text_fini(&plain);
    text_fini(&markdown);
    text_fini(&place);
    text_fini(&quoted);
    return true;
}
