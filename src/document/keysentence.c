/* The sentences that say most about a document, without any model.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "document/keysentence.h"

#include <math.h>
#include <string.h>

#include "document/sentence.h"

enum {
    BEST = 8,      /* most sentences picked of one window */
    PLAIN = 28,    /* words; longer sentences count for less */
    WORTHLESS = 4, /* times worse than the best of its window: left out */
};

/* ---- scores ---------------------------------------------------------------------------------- */

struct shape {
    size_t words, content, numbers, shouted;
    double weight;
    size_t focus;
};

static struct shape measure(const struct terms *terms, const char *text, size_t length)
{
    struct words walk = words_of(text, length);
    struct word word;
    struct shape shape = {0};
    uint64_t seen[64];
    size_t seen_count = 0;
    while (words_next(&walk, &word)) {
        bool again = false;
        for (size_t i = 0; i < seen_count && !again; i++)
            again = seen[i] == word.hash;
        shape.words++;
        shape.numbers += word.number;
        shape.shouted += word.shouted;
        if (again || word.common)
            continue;
        if (seen_count < 64)
            seen[seen_count++] = word.hash;
        shape.content++;
        shape.weight += terms_weight(terms, &word);
        shape.focus += word_set_has(&terms->focus, word.hash);
    }
    return shape;
}

static size_t opening_length(const char *text, size_t length, const char *const *openings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(openings[i]);
        if (length > n && memcmp(text, openings[i], n) == 0)
            return n;
    }
    return 0;
}

/* "This document describes …", "The purpose of this license is …", "We propose …": what a text says of itself
 * is what an abstract of it says. */
static bool speaks_of_itself(const char *text, size_t length)
{
    static const char *const openings[] = {"This ",
                                           "In this ",
                                           "The present ",
                                           "The purpose of this ",
                                           "The purpose of the ",
                                           "The aim of this ",
                                           "The goal of this ",
                                           "The objective of this "};
    static const char *const authors[] = {"We propose ",      "We present ",     "We describe ",
                                          "I propose ",       "In this work we", "This is the tale",
                                          "This is the story"};
    static const char kinds[] =
        " agreement article book document essay guide handbook letter licence license "
        "manual memo module novel package page pamphlet paper policy poem program "
        "project proposal report review rfc specification standard study survey "
        "thesis treatise treaty tutorial volume ";
    if (opening_length(text, length, authors, sizeof authors / sizeof authors[0]))
        return true;
    size_t first = opening_length(text, length, openings, sizeof openings / sizeof openings[0]), last = first;
    char word[16] = " ";
    while (last < length && last - first < sizeof word - 3 && (text[last] | 0x20) >= 'a' &&
           (text[last] | 0x20) <= 'z') {
        word[last - first + 1] = (char)(text[last] | 0x20);
        last++;
    }
    word[last - first + 1] = ' ';
    return first && last > first + 2 && strstr(kinds, word) != NULL;
}

/* A sentence that leans on the one before it reads badly alone. */
static bool leans_back(const char *text, size_t length)
{
    static const char *const openings[] = {
        "However",     "But ",        "And ",  "It ",     "This ",     "These ",   "They ",
        "He ",         "She ",        "Such ", "Thus",    "Therefore", "Moreover", "Also",
        "In addition", "For example", "So ",   "Then ",   "Otherwise", "Again",    "That ",
        "Those ",      "Nor ",        "Or ",   "Finally", "Further"};
    return opening_length(text, length, openings, sizeof openings / sizeof openings[0]) > 0;
}

/* The heads of mails, and what letters begin and end with. */
static bool is_letter_form(const char *text, size_t length)
{
    static const char *const heads[] = {
        "From: ",     "To: ",  "Cc: ",      "CC: ", "Bcc: ",      "Date: ", "Sent: ", "Subject: ",
        "Reply-To: ", "Von: ", "Betreff: ", "An: ", "Gesendet: ", "De: ",   "Objet: "};
    static const char *const courtesies[] = {"Dear ",          "Hello",    "Hi ",         "Best regards",
                                             "Kind regards",   "Regards",  "Best wish",   "With best",
                                             "Yours ",         "Yours,",   "Sincere",     "Cheers",
                                             "Mit freundlich", "Viele Gr", "Cordialement"};
    enum { LONGEST_COURTESY = 10 };
    return opening_length(text, length, heads, sizeof heads / sizeof heads[0]) > 0 ||
           (opening_length(text, length, courtesies, sizeof courtesies / sizeof courtesies[0]) > 0 &&
            words_count(text, length) <= LONGEST_COURTESY);
}

bool keysentence_is_boilerplate(const char *text, size_t length)
{
    size_t marks = 0;
    for (size_t i = 0; i < length; i++)
        marks += text[i] != '\0' && strchr("*|_=~<>{}\\#+/", text[i]) != NULL;
    bool frame = length > 2 && text[length - 2] == ' ' && strchr("*|#", text[length - 1]) != NULL;
    return frame || marks * 20 > length || is_letter_form(text, length) ||
           (length > 9 && memcmp(text, "Copyright", 9) == 0) || memmem(text, length, " * ", 3) ||
           memmem(text, length, " | ", 3) || memmem(text, length, "(C)", 3) ||
           memmem(text, length, "\xC2\xA9", 2) || memmem(text, length, "://", 3);
}

/* Long sentences use up the words of an answer: beyond this many, what they say counts for less. */
static double length_factor(size_t words)
{
    if (words < 7)
        return 0.3;
    return words > PLAIN ? (double)PLAIN / (double)words : 1.0;
}

/* An item of a list leans on the line above the list ("It does not: …"); a numbered clause stands alone. */
static bool is_item(const char *text, size_t marker)
{
    for (size_t i = 0; i + 2 < marker; i++)
        if (text[i] == '.' && text[i + 1] >= '0' && text[i + 1] <= '9')
            return false;
    return marker > 0;
}

/* "-x", "--width=N": how often a manual's options stand in a text; lists of them say nothing of their
 * program. */
static size_t count_options(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        bool begins = i == 0 || strchr(" \t\n[|,(", text[i - 1]) != NULL;
        char next = text[i + 1] == '-' && i + 2 < length ? text[i + 2] : text[i + 1];
        count += begins && text[i] == '-' && ((next | 0x20) >= 'a' && (next | 0x20) <= 'z');
    }
    return count;
}

double keysentence_score(const struct terms *terms, const char *text, size_t length)
{
    size_t marker = sentence_marker(text, length);
    bool item = is_item(text, marker);
    size_t options = count_options(text, length), said = terms_said(terms, text, length);
    text += marker;
    length -= marker;
    struct shape shape = measure(terms, text, length);
    if (shape.words == 0)
        return 0;
    double score = shape.weight / sqrt(8.0 + (double)shape.words) * length_factor(shape.words);
    if (shape.numbers * 3 > shape.words || shape.shouted * 2 > shape.words)
        score *= 0.3;
    if (!sentence_is_closed(text, length))
        score *= text[length - 1] == ':' ? 0.1 : 0.3;
    if (speaks_of_itself(text, length))
        score *= 1.5;
    else if (text[length - 1] == '?' || leans_back(text, length))
        score *= 0.4;
    if (item)
        score *= 0.4;
    score /= 1.0 + 3.0 * (double)options;
    if (said > 1) /* what is said again and again is a form of words */
        score /= (double)said;
    if (keysentence_is_boilerplate(text, length))
        score *= 0.1;
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80 && !(first >= 'A' && first <= 'Z') && first != '"')
        score *= 0.25;
    return score * (1.0 + (double)(shape.focus < 4 ? shape.focus : 4));
}

/* ---- choosing in a window -------------------------------------------------------------------- */

/* "Dear Bert," and below it, in a small letter, what the letter says. */
static bool follows_salutation(const struct ll_document *d, const struct doc_sentence *s)
{
    const struct doc_paragraph *before = s->paragraph ? &d->paragraphs[s->paragraph - 1] : NULL;
    return before && before->kind == PARAGRAPH_PROSE && before->last - before->first < 60 &&
           d->text.text[before->last - 1] == ',' && d->text.text[s->first] >= 'a' &&
           d->text.text[s->first] <= 'z';
}

static double score_at(const struct ll_document *d, const struct terms *terms, size_t index)
{
    const struct doc_sentence *s = &d->sentences[index];
    const struct doc_paragraph *p = &d->paragraphs[s->paragraph];
    double score = keysentence_score(terms, d->text.text + s->first, s->last - s->first);
    if (p->kind != PARAGRAPH_PROSE && p->kind != PARAGRAPH_LINES)
        return score * (p->kind == PARAGRAPH_HEADING ? 0.05 : 0.02);
    bool first_in_paragraph = index == 0 || d->sentences[index - 1].paragraph != s->paragraph;
    bool after_heading =
        first_in_paragraph && s->paragraph > 0 && d->paragraphs[s->paragraph - 1].kind == PARAGRAPH_HEADING;
    if (first_in_paragraph && follows_salutation(d, s))
        score *= 4;
    if (after_heading || s->paragraph == 0)
        score *= 1.35;
    else if (first_in_paragraph)
        score *= 1.1;
    return score;
}

struct pick {
    size_t sentence;
    double score;
};

static bool repeats_any(const struct ll_document *d, const struct pick *picks, size_t count, size_t sentence)
{
    const struct doc_sentence *s = &d->sentences[sentence];
    for (size_t i = 0; i < count; i++) {
        const struct doc_sentence *other = &d->sentences[picks[i].sentence];
        if (claim_repeats(d->text.text + s->first, s->last - s->first, d->text.text + other->first,
                          other->last - other->first))
            return true;
    }
    return false;
}

/* Keeps the best `most`, best first. */
static size_t keep_best(const struct ll_document *d, struct pick *picks, size_t count, size_t most,
                        struct pick new)
{
    size_t at = count;
    while (at > 0 && picks[at - 1].score < new.score)
        at--;
    if (at >= most || repeats_any(d, picks, at, new.sentence))
        return count;
    count += count < most;
    for (size_t i = count - 1; i > at; i--)
        picks[i] = picks[i - 1];
    picks[at] = new;
    return count;
}

/* Quoted without the bullet or number before its words. */
static bool add_pick(const struct ll_document *d, const struct pick *pick, size_t window,
                     struct claim_list *out)
{
    const struct doc_sentence *s = &d->sentences[pick->sentence];
    size_t first = s->first + sentence_marker(d->text.text + s->first, s->last - s->first);
    struct claim claim = {.window = window,
                          .first = first,
                          .last = s->last,
                          .support = 1.0f,
                          .score = (float)pick->score,
                          .quoted = true,
                          .borne = true,
                          .line = d->paragraphs[s->paragraph].kind == PARAGRAPH_LINES};
    return claim_add(out, d->text.text + first, s->last - first, &claim);
}

bool keysentence_pick(const struct ll_document *d, const struct terms *terms, const struct window *w,
                      size_t window_index, size_t most, struct claim_list *out)
{
    struct pick picks[BEST];
    size_t count = 0;
    most = most < BEST ? most : BEST;
    for (size_t i = document_sentence(d, w->first); i < d->sentence_count && d->sentences[i].first < w->last;
         i++)
        count = keep_best(d, picks, count, most, (struct pick){i, score_at(d, terms, i)});
    while (count > 1 && picks[count - 1].score < picks[0].score / WORTHLESS)
        count--;
    for (size_t added = 0, low = 0; added < count; added++) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < count; i++)
            if (picks[i].sentence >= low && (next == SIZE_MAX || picks[i].sentence < picks[next].sentence))
                next = i;
        if (!add_pick(d, &picks[next], window_index, out))
            return false;
        low = picks[next].sentence + 1;
    }
    return true;
}
