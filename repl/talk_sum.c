/* Summaries in a conversation: of documents, and of its own oldest part when room is short.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "console/fusion.h"
#include "console/human.h"
#include "repl/asking.h"
#include "repl/documents.h"
#include "repl/say.h"
#include "repl/signals.h"
#include "repl/talk.h"

enum { MOST_PASSAGE = 4000 };

/* The summary stays for /cite, with its document unless that is attached. */
static void keep_summing(struct talk *talk, struct summing *summing, const char *name, ll_document *owned)
{
    summing_fini(&talk->summing);
    if (talk->summed != owned)
        ll_document_close(talk->summed);
    talk->summed = owned;
    talk->summing = *summing;
    talk->summing.model_name = NULL;
    text_clear(&talk->summed_name);
    text_puts(&talk->summed_name, name);
}

static int sum_one(struct talk *talk, const char *name, const ll_document *document, const char *focus,
                   ll_document *owned)
{
    struct summing summing = {.focus = focus};
    struct output *output = &talk->program->output;
    int code =
        summing_plan(&summing, talk->program, document, talk->work->model, text_string(&talk->work->label));
    if (!code)
        code = summing_make(&summing, talk->program);
    if (code) {
        summing_fini(&summing);
        ll_document_close(owned);
        return code;
    }
    output_printf(output, "%s\n\n", name);
    output->prose = true;
    summing_print(&summing, output);
    output->prose = false;
    output_flush(output);
    code = summing_complete(&summing) ? LEAVE_OK : LEAVE_UNCOVERED;
    keep_summing(talk, &summing, name, owned);
    return code;
}

int talk_sum(struct talk *talk, const char *name, const ll_document *document, const char *focus)
{
    return sum_one(talk, name, document, focus, NULL);
}

static int nothing_attached(const char *command)
{
    say_error("no document is attached; /%s FILE takes a file, /load FILE attaches one", command);
    return LEAVE_USAGE;
}

int talk_sum_all(struct talk *talk, const char *path)
{
    int code = LEAVE_OK;
    ll_document *document = NULL;
    if (path) {
        code = documents_open(talk->program, &path, 1, &document);
        return code ? code : sum_one(talk, path, document, NULL, document);
    }
    if (!talk->document_count)
        return nothing_attached("sum");
    for (size_t i = 0; i < talk->document_count && code < LEAVE_HUNG_UP; i++) {
        int each = talk_sum(talk, talk->documents[i].name, talk->documents[i].document, NULL);
        code = each ? each : code;
    }
    return code;
}

static int plan_one(struct talk *talk, const char *name, const ll_document *document)
{
    struct summing summing = {0};
    int code =
        summing_plan(&summing, talk->program, document, talk->work->model, text_string(&talk->work->label));
    if (!code) {
        output_printf(&talk->program->output, "%s\n", name);
        summing_print_plan(&summing, &talk->program->output);
    }
    summing_fini(&summing);
    return code;
}

int talk_plan(struct talk *talk, const char *path)
{
    int code = LEAVE_OK;
    if (path) {
        ll_document *document = NULL;
        code = documents_open(talk->program, &path, 1, &document);
        if (!code)
            code = plan_one(talk, path, document);
        ll_document_close(document);
        return code;
    }
    if (!talk->document_count)
        return nothing_attached("plan");
    for (size_t i = 0; i < talk->document_count && !code; i++)
        code = plan_one(talk, talk->documents[i].name, talk->documents[i].document);
    return code;
}

/* ---- questions ---- */

static int ask_one(struct talk *talk, const char *heading, const ll_document *document, const char *question)
{
    struct output *output = &talk->program->output;
    struct asking asking = {
        .document = document, .question = question, .model_name = text_string(&talk->work->label)};
    int code = asking_make(&asking, talk->program, talk->work->model);
    if (!code && heading)
        output_printf(output, "%s\n\n", heading);
    output->prose = true;
    if (!code)
        asking_print(&asking, output);
    output->prose = false;
    ll_answer_free(asking.answer);
    return code;
}

/* All documents as one, so that the best of all their windows are asked, as the verb ask does. */
static int read_together(struct talk *talk)
{
    const ll_document **all = NULL;
    ll_error error = {0};
    if (talk->document_count < 2 || talk->together)
        return LEAVE_OK;
    all = calloc(talk->document_count, sizeof *all);
    for (size_t i = 0; all && i < talk->document_count; i++)
        all[i] = talk->documents[i].document;
    bool room = all && ll_document_join(all, talk->document_count, &talk->together, &error) == LL_OK;
    free(all);
    if (!room)
        say_error("no memory to ask %zu documents together", talk->document_count);
    return room ? LEAVE_OK : LEAVE_MEMORY;
}

int talk_question(struct talk *talk, const char *question, size_t first)
{
    if (first >= talk->document_count) {
        say_error("no document is attached to ask; /load FILE attaches one");
        return LEAVE_USAGE;
    }
    int code = first ? LEAVE_OK : read_together(talk);
    bool together = !first && talk->together;
    if (!code && together)
        code = ask_one(talk, NULL, talk->together, question);
    for (size_t i = first; !together && i < talk->document_count && code < LEAVE_HUNG_UP; i++) {
        const struct talk_document *document = &talk->documents[i];
        int each = ask_one(talk, talk->document_count > first + 1 ? document->name : NULL, document->document,
                           question);
        code = each ? each : code;
    }
    return code;
}

/* ---- sources ---- */

static void print_passage(struct talk *talk, size_t number, const ll_sentence *sentence)
{
    struct output *output = &talk->program->output;
    size_t length = 0;
    const char *text = ll_document_text(talk->summing.document, &length);
    size_t first = (size_t)sentence->first_byte, last = (size_t)sentence->last_byte;
    if (last > length || first > last)
        first = last = 0;
    size_t shown = last - first < MOST_PASSAGE ? last - first : MOST_PASSAGE;
    while (shown < last - first && shown && ((unsigned char)text[first + shown] & 0xC0) == 0x80)
        shown--;
    ll_place place = summing_place(&talk->summing, first, last);
    output_printf(output, "%zu. %.*s\n%s, bytes %llu to %llu", number, (int)sentence->length, sentence->text,
                  *place.name ? place.name : text_string(&talk->summed_name),
                  (unsigned long long)place.first_byte, (unsigned long long)place.last_byte);
    if (place.first_page)
        output_printf(output, place.first_page == place.last_page ? ", page %zu" : ", pages %zu to %zu",
                      place.first_page, place.last_page);
    output_puts(output, sentence->quoted ? ", word for word:\n" : ":\n");
    output_write(output, text + first, shown);
    if (shown < last - first)
        output_printf(output, "\n(%s bytes more)", human_count(last - first - shown).text);
    output_puts(output, "\n");
}

int talk_cite(struct talk *talk, const char *number)
{
    size_t count = talk->summing.summary ? ll_summary_sentence_count(talk->summing.summary) : 0;
    char *end;
    unsigned long wanted = strtoul(number, &end, 10);
    ll_sentence sentence;
    if (!count) {
        say_error("there is no summary yet to cite from; /sum makes one");
        return LEAVE_USAGE;
    }
    if (*end || !wanted || wanted > count) {
        say_error("the last summary (%s) has %s, and “%s” is none of them", text_string(&talk->summed_name),
                  human_things(count, "sentence").text, number);
        return LEAVE_USAGE;
    }
    if (ll_summary_get_sentence(talk->summing.summary, wanted - 1, &sentence) != LL_OK)
        return LEAVE_OTHER;
    print_passage(talk, wanted, &sentence);
    return LEAVE_OK;
}

/* ---- room ---- */

static int summarise_oldest(struct talk *talk, size_t count, struct text *summary)
{
    struct text words = {0};
    ll_document *document = NULL;
    ll_error error = {0};
    size_t length = 0;
    struct summing summing = {.wanted_words = fusion_words(work_capacity(talk->work))};
    fusion_text(&talk->conversation, count, &words);
    int code = LEAVE_OK;
    if (ll_document_from_text(text_string(&words), words.length, NULL, &document, &error) != LL_OK)
        code = program_fail(talk->program, CONCERN_DOCUMENT, &error);
    if (!code)
        code = summing_plan(&summing, talk->program, document, talk->work->model, NULL);
    if (!code)
        code = summing_make(&summing, talk->program);
    if (!code) {
        const char *text = ll_summary_text(summing.summary, &length);
        text_append(summary, text, length);
    }
    summing_fini(&summing);
    ll_document_close(document);
    text_fini(&words);
    return code;
}

int talk_make_room(struct talk *talk, size_t wanted)
{
    size_t count = fusion_count(&talk->conversation, talk->work->model, wanted);
    struct text summary = {0};
    if (!count)
        return LEAVE_OK;
    say_note("the conversation has outgrown its context: the oldest part of it, %s, becomes a summary "
             "(/undo takes it back with this turn)",
             human_things(count, "message").text);
    int code = summarise_oldest(talk, count, &summary);
    if (!code && !conversation_fuse(&talk->conversation, count, text_string(&summary))) {
        say_error("no memory for the summary");
        code = LEAVE_MEMORY;
    }
    if (!code) {
        output_end_line(&talk->program->output);
        output_printf(&talk->program->output, "[What was said before, in short: %s]\n\n",
                      text_string(&summary));
        output_flush(&talk->program->output);
    }
    text_fini(&summary);
    return code;
}
