/* An answer from a document: what was found, the sentences it rests on, what was asked of the model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/answer.h"

#include "base/mem.h"

void ll_answer_free(ll_answer *answer)
{
    if (!answer)
        return;
    for (size_t i = 0; i < answer->window_count; i++)
        strbuf_fini(&answer->windows[i].reply);
    for (size_t i = 0; i < answer->quote_count; i++)
        strbuf_fini(&answer->quotes[i].path);
    mem_free(answer->windows);
    strbuf_fini(&answer->text);
    strbuf_fini(&answer->reason);
    mem_free(answer);
}

const char *ll_answer_text(const ll_answer *answer, size_t *ret_length)
{
    if (ret_length)
        *ret_length = answer->text.length;
    return strbuf_text(&answer->text);
}

ll_status ll_answer_get_info(const ll_answer *answer, ll_answer_info *ret)
{
    *ret = (ll_answer_info){.found = answer->found,
                            .generated = answer->generated,
                            .reason = strbuf_text(&answer->reason),
                            .passages = answer->passages};
    for (size_t i = 0; i < answer->window_count; i++)
        ret->asked += answer->windows[i].asked;
    return LL_OK;
}

ll_status ll_answer_get_stats(const ll_answer *answer, ll_summary_stats *ret)
{
    *ret = answer->stats;
    return LL_OK;
}

size_t ll_answer_quote_count(const ll_answer *answer)
{
    return answer->quote_count;
}

static const char *file_name(const struct ll_document *d, size_t byte)
{
    return d->titles.text + document_file(d, byte)->name;
}

ll_status ll_answer_get_quote(const ll_answer *answer, size_t quote, ll_quote *ret)
{
    if (quote >= answer->quote_count)
        return LL_NOT_FOUND;
    const struct ll_document *d = answer->document;
    const struct answer_quote *q = &answer->quotes[quote];
    *ret = (ll_quote){.text = d->text.text + q->first,
                      .length = q->last - q->first,
                      .file = file_name(d, q->first),
                      .title = q->path.length ? strbuf_text(&q->path) : NULL,
                      .first_byte = q->first,
                      .last_byte = q->last,
                      .window = q->window,
                      .score = q->score};
    document_pages(d, q->first, q->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}

size_t ll_answer_window_count(const ll_answer *answer)
{
    return answer->window_count;
}

ll_status ll_answer_get_window(const ll_answer *answer, size_t window, ll_answer_window *ret)
{
    if (window >= answer->window_count)
        return LL_NOT_FOUND;
    const struct answer_window *w = &answer->windows[window];
    *ret = (ll_answer_window){.first_byte = w->first,
                              .last_byte = w->last,
                              .file = file_name(answer->document, w->first),
                              .score = w->score,
                              .reply = w->asked ? strbuf_text(&w->reply) : NULL};
    document_pages(answer->document, w->first, w->last, &ret->first_page, &ret->last_page);
    return LL_OK;
}
