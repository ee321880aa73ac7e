/* Room for the next answer: what is oldest becomes a summary, what no context holds a document.
 * SPDX-License-Identifier: Apache-2.0 */
#include "jupyter_kernel/room.h"

#include "console/fusion.h"
#include "console/human.h"
#include "console/sampling.h"
#include "jupyter_kernel/digest.h"

enum { LEAST_ROOM = 16 };

size_t room_wanted(const struct talk *talk)
{
    return fusion_room(&talk->settings, talk_capacity(talk));
}

bool room_lacks(const struct talk *talk, size_t tokens)
{
    return tokens + room_wanted(talk) + LEAST_ROOM > talk_capacity(talk);
}

static bool summarise_oldest(struct turn *turn, size_t count, struct text *summary)
{
    ll_plan_options options = plan_options_of(&turn->talk->settings);
    struct text words = {0};
    struct digest digest = {0};
    ll_document *document = NULL;
    ll_error error = {0};
    size_t length = 0;
    options.summary_words = fusion_words(talk_capacity(turn->talk));
    options.focus = NULL;
    fusion_text(&turn->talk->conversation, count, &words);
    bool ok =
        !words.failed && ll_document_from_text(words.bytes, words.length, NULL, &document, &error) == LL_OK;
    if (words.failed)
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for a summary of the conversation");
    else if (!ok)
        output_fail_error(turn->output, FAIL_DOCUMENT, &error);
    ok = ok && digest_make(turn, document, &options, &digest);
    if (ok) {
        const char *text = ll_summary_text(digest.summary, &length);
        text_append(summary, text, length);
    }
    digest_fini(&digest);
    ll_document_close(document);
    text_fini(&words);
    return ok;
}

static void show_summary(struct turn *turn, size_t count, const struct text *summary)
{
    struct text plain = {0}, markdown = {0};
    text_printf(
        &plain,
        "The conversation has outgrown its context: its oldest %zu messages are a summary now (%%undo "
        "takes it back with this turn).\nWhat was said before, in short: ",
        count);
    text_printf(
        &markdown,
        "*The conversation has outgrown its context: its oldest %zu messages are a summary now (`%%undo` "
        "takes it back with this turn).*\n\n> ",
        count);
    text_append(&plain, text_string(summary), summary->length);
    for (size_t i = 0; i < summary->length; i++) /* a quotation ends where its paragraph does */
        markdown_append(&markdown, summary->bytes[i] == '\n' ? " " : summary->bytes + i, 1);
    json_t *bundle = bundle_new(text_string(&plain), plain.length);
    bundle_add(bundle, "text/markdown", &markdown);
    output_display(turn->output, bundle, NULL, false);
    text_fini(&plain);
    text_fini(&markdown);
}

bool room_make(struct turn *turn)
{
    struct talk *talk = turn->talk;
    size_t wanted = talk_capacity(talk) - room_wanted(talk);
    size_t count = fusion_count(&talk->conversation, talk->model, wanted);
    struct text summary = {0};
    if (!count)
        return true;
    bool ok = summarise_oldest(turn, count, &summary);
    if (ok && !conversation_fuse(&talk->conversation, count, text_string(&summary))) {
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for the summary of the conversation");
        ok = false;
    }
    if (ok)
        show_summary(turn, count, &summary);
    text_fini(&summary);
    return ok;
}

bool room_route(struct turn *turn, const char *prompt, size_t length, size_t tokens, json_t **ret)
{
    struct talk *talk = turn->talk;
    ll_document *document = NULL;
    ll_error error = {0};
    struct text name = {0};
    if (ll_document_from_text(prompt, length, NULL, &document, &error) != LL_OK) {
        output_fail_error(turn->output, FAIL_DOCUMENT, &error);
        return false;
    }
    text_printf(&name, "the text of cell %lld", (long long)turn->output->count);
    bool ok = talk_keep(turn, text_string(&name), document, true);
    if (ok)
        output_display(
            turn->output,
            bundle_line("The prompt has %s tokens and the context holds %s: it is attached as “%s” "
                        "and read in windows; %%ask asks it.",
                        human_count(tokens).text, human_count(talk_capacity(talk)).text, text_string(&name)),
            NULL, false);
    ok = ok && digest_summarise(turn, document, text_string(&name), ret);
    text_fini(&name);
    return ok;
}
