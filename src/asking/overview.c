/* Questions about a document as a whole: what it is about, what its main points are, who wrote it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "asking/overview.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "document/plan.h"
#include "document/summary.h"
#include "readers/words.h"

enum {
    SUBJECT_WORDS = 60, /* of key sentences together */
    MOST_QUOTES = 3,
    HEAD_BYTES = 4096, /* where a text names its author: near its beginning … */
    TAIL_BYTES = 1024, /* … or below its end */
    LONGEST_LINE = 160,
    PATH_SHOWN = 120
};

/* ---- the question ---------------------------------------------------------------------------- */

static bool is_among(const char *text, const struct word *word, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == word->last - word->first &&
            strncasecmp(*words, text + word->first, word->last - word->first) == 0)
            return true;
    return false;
}

enum overview_kind overview_of(const char *question)
{
    static const char *const things[] = {"document", "documents", "text",  "texts", "file",    "files",
                                         "book",     "article",   "paper", "page",  "pages",   "letter",
                                         "story",    "report",    "mail",  "email", "message", "content",
                                         "contents", "please",    "give",  "tell",  "list",    "what's",
                                         "who's",    "short",     "brief", "briefly", "whole", "piece", NULL};
    static const char *const subjects[] = {"about",     "summary",  "summarise", "summarize", "summarised",
                                           "main",      "point",    "points",    "key",       "gist",
                                           "overview",  "idea",     "ideas",     "topic",     "topics",
                                           "subject",   "tldr",     "tl",        "dr",        "takeaway",
                                           "takeaways", "important", "essence",  "theme",     NULL};
    static const char *const authors[] = {"wrote", "write", "written", "author", "authors", "writer", NULL};
    struct words walk = words_of(question, strlen(question));
    struct word word;
    enum overview_kind kind = OVERVIEW_NONE;
    bool asks_who = false;
    while (words_next(&walk, &word)) {
        static const char *const who[] = {"who", "who's", "whose", "author", "authors", "writer", NULL};
        asks_who |= is_among(question, &word, who);
        if (is_among(question, &word, authors))
            kind = OVERVIEW_AUTHOR;
        else if (is_among(question, &word, subjects))
            kind = kind == OVERVIEW_AUTHOR ? kind : OVERVIEW_SUBJECT;
        else if (!word.common && !is_among(question, &word, things))
            return OVERVIEW_NONE;
    }
    return kind == OVERVIEW_AUTHOR && !asks_who ? OVERVIEW_NONE : kind;
}

/* ---- what it is about ------------------------------------------------------------------------ */

static void put_quote(struct ll_answer *answer, size_t first, size_t last)
{
    struct answer_quote *q = &answer->quotes[answer->quote_count++];
    *q = (struct answer_quote){first, last, 0, 1.0f, {0}};
    document_path(answer->document, document_section(answer->document, first), PATH_SHOWN, &q->path);
    bool blank = false;
    for (size_t at = first; at < last && answer->quote_count == 1; at++) { /* blanks folded, to be read */
        char c = answer->document->text.text[at];
        bool here = c == ' ' || c == '\n' || c == '\t';
        if (!here || !blank)
            strbuf_putc(&answer->text, here ? ' ' : c);
        blank = here;
    }
}

static ll_status quote_subject(const struct ll_document *document, const ll_run *run, ll_plan **plan,
                               ll_summary **summary, struct ll_answer *answer, ll_error *error)
{
    ll_plan_options options;
    ll_plan_options_init(&options);
    options.method = LL_METHOD_EXTRACTIVE;
    options.summary_words = SUBJECT_WORDS;
    LL_TRY(plan_make(document, NULL, &options, run, plan, error));
    LL_TRY(summary_make(NULL, *plan, NULL, run, summary, error));
    for (size_t i = 0; i < ll_summary_sentence_count(*summary) && answer->quote_count < MOST_QUOTES; i++) {
        ll_sentence sentence;
        if (ll_summary_get_sentence(*summary, i, &sentence) == LL_OK && sentence.quoted &&
            sentence.last_byte > sentence.first_byte)
            put_quote(answer, sentence.first_byte, sentence.last_byte);
    }
    if (!answer->quote_count && document->sentence_count) /* counted only: a table begins with its headings */
        put_quote(answer, document->sentences[0].first, document->sentences[0].last);
    return LL_OK;
}

static ll_status find_subject(const struct ll_document *document, const ll_run *run, struct ll_answer *answer,
                              ll_error *error)
{
    ll_plan *plan = NULL;
    ll_summary *summary = NULL;
    ll_status status = quote_subject(document, run, &plan, &summary, answer, error);
    ll_summary_free(summary);
    ll_plan_free(plan);
    LL_TRY(status);
    strbuf_puts(&answer->reason,
                answer->quote_count
                    ? "it asks about the document as a whole: these are key sentences; sum says more"
                    : "it asks about the document as a whole, which has no sentence that stands for it");
    return LL_OK;
}

/* ---- who wrote it ---------------------------------------------------------------------------- */

static bool begins(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && strncasecmp(text, with, n) == 0;
}

/* "by Anna Kell" at the beginning, "written by Anna Kell" anywhere. */
static bool holds_by_name(const char *text, size_t length)
{
    struct words walk = words_of(text, length);
    struct word word;
    bool first = true, written = false, by = false;
    while (words_next(&walk, &word)) {
        if (by)
            return word.capital && !word.common && !word.number;
        by = (first || written) && word.last - word.first == 2 && begins(text + word.first, 2, "by");
        written = word.last - word.first == 7 && begins(text + word.first, 7, "written");
        first = false;
    }
    return false;
}

static bool names_author(const char *text, size_t length)
{
    static const char *const fields[] = {"author:",     "authors:", "from:",
                                         "written by:", "by:",      "signed:", NULL};
    while (length && strchr(" *_#%>", *text)) {
        text++;
        length--;
    }
    for (size_t i = 0; fields[i]; i++)
        if (begins(text, length, fields[i]) && length > strlen(fields[i]) + 1)
            return true;
    return holds_by_name(text, length);
}

static bool signs_off(const char *text, size_t length)
{
    static const char *const endings[] = {"yours", "best regards", "kind regards", "regards", "sincerely",
                                          "best wishes", "with best", "love,", "cheers", "best,", NULL};
    for (size_t i = 0; endings[i]; i++)
        if (begins(text, length, endings[i]) && length < 40)
            return true;
    return false;
}

static size_t line_end(const char *text, size_t at, size_t last)
{
    const char *newline = memchr(text + at, '\n', last - at);
    return newline ? (size_t)(newline - text) : last;
}

/* A line below the complimentary close belongs to it. */
static size_t signature_end(const char *text, size_t end, size_t last)
{
    size_t at = end;
    while (at < last && strchr("\n\r ", text[at]))
        at++;
    size_t below = at < last ? line_end(text, at, last) : end;
    return below > at && below - at < 60 ? below : end;
}

static bool quote_author(const struct doc_file *file, struct ll_answer *answer)
{
    const char *text = answer->document->text.text;
    size_t length = file->last - file->first;
    for (size_t at = file->first, end; at < file->last; at = end + 1) {
        end = line_end(text, at, file->last);
        bool head = at - file->first < HEAD_BYTES, tail = file->last - at < TAIL_BYTES;
        bool off = tail && signs_off(text + at, end - at);
        if (end - at <= LONGEST_LINE && (off || (head && names_author(text + at, end - at)))) {
            put_quote(answer, at, off ? signature_end(text, end, file->last) : end);
            return true;
        }
        if (!head && !tail && length > TAIL_BYTES && file->last - TAIL_BYTES > end)
            end = file->last - TAIL_BYTES - 1;
    }
    return false;
}

static void find_author(const struct ll_document *document, struct ll_answer *answer)
{
    for (size_t i = 0; i < document->file_count && answer->quote_count < MOST_QUOTES; i++)
        (void)quote_author(&document->files[i], answer);
    strbuf_puts(&answer->reason, answer->quote_count ? "the line names an author, a sender or a signature"
                                                     : "no line at its beginning or end names an author");
}

/* ---- both ------------------------------------------------------------------------------------ */

ll_status overview_make(const struct ll_document *document, enum overview_kind kind, const ll_run *run,
                        struct ll_answer *answer, ll_error *error)
{
    if (kind == OVERVIEW_SUBJECT)
        LL_TRY(find_subject(document, run, answer, error));
    else
        find_author(document, answer);
    answer->found = answer->quote_count > 0;
    if (!answer->found)
        strbuf_puts(&answer->text, "Not in the document.");
    bool failed = answer->text.failed || answer->reason.failed;
    return failed ? error_nomem(error, "ask", answer->text.length) : LL_OK;
}
