/* An answer from a document: what was found, the sentences it rests on, what was asked of the model.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ASKING_ANSWER_H
#define ASKING_ANSWER_H

#include "base/strbuf.h"
#include "document/document.h"

struct answer_quote {
    size_t first, last; /* bytes of the document; the quote is exactly these */
    size_t window;      /* index into windows */
    float score;        /* how well it meets the question */
    struct strbuf path; /* of headings */
};

struct answer_window {
    size_t first, last;
    float score;
    bool asked;
    struct strbuf reply; /* of the model, as it came */
};

struct ll_answer {
    const struct ll_document *document;
    struct strbuf text, reason;
    bool found, generated;
    struct answer_quote quotes[3];
    size_t quote_count;
    struct answer_window *windows; /* best first */
    size_t window_count;
    size_t passages; /* of the whole document */
    ll_summary_stats stats;
    ll_error unkept; /* why answers were not kept */
};

#endif
