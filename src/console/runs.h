/* The run log for people and programs: a table, JSON, CSV, two runs side by side, a curve.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONSOLE_RUNS_H
#define CONSOLE_RUNS_H

#include "console/text.h"
#include "longleaf.h"

enum runs_form { RUNS_TEXT, RUNS_JSON, RUNS_CSV };
enum { RUNS_USUAL = 20 }; /* in a table, when nobody asked for more */

/* Reads "2026-11-30" (local time), "12h" or "7d" into milliseconds since 1970. False: it is neither. */
bool runs_read_since(const char *text, int64_t *ret);
/* Reads the number of a run, as the table shows it. */
bool runs_read_id(const char *text, int64_t *ret);

/* What is asked of the log in a conversation: nothing, "--curve", or "--compare A B" with the numbers of two
 * runs. */
enum runs_wish { RUNS_LIST, RUNS_CURVE, RUNS_PAIR, RUNS_UNKNOWN };
enum runs_wish runs_read_wish(const char *words, int64_t ret_pair[2]);

/* All functions below read the user's log (recorder_path) and append. A log that is not there yet is empty.
 * LL_NOT_FOUND: no such run; else as ll_runlog_open. */

/* columns: of the terminal, the table leaves out what has no room; 0: no limit. */
ll_status runs_show(enum runs_form form, const ll_runlog_filter *filter, size_t columns, struct text *out,
                    ll_error *error);
ll_status runs_compare(enum runs_form form, int64_t a, int64_t b, struct text *out, ll_error *error);

/* What runs of one model took, as dots over the line that the plan predicts; runs of documents, whose windows
 * stand side by side, are left out. path: of the model file, for the prediction; label: its name in the log.
 * svg: a drawing, else braille of so many columns and what the dots are. */
ll_status runs_curve(const char *path, const char *label, const ll_runlog_filter *filter, bool svg,
                     size_t columns, struct text *out, ll_error *error);

/* Opens the user's log to be read. *ret is NULL when there is none yet. */
ll_status runs_open(ll_runlog **ret, ll_error *error);
uint64_t runs_total(const uint64_t bytes[LL_COMPONENTS]);

#endif
