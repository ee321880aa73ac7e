/* The run log for people and programs: a table, JSON, CSV, two runs side by side, a curve.
 * SPDX-License-Identifier: Apache-2.0 */
#include "console/runs.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "console/escape.h"
#include "console/human.h"
#include "console/recorder.h"

/* ---- what is asked ---- */

bool runs_read_id(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long id = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    if (id < 1 || *end || errno)
        return false;
    *ret = id;
    return true;
}

enum runs_wish runs_read_wish(const char *words, int64_t ret_pair[2])
{
    static const char blanks[] = " \t", flag[] = "--compare";
    struct text first = {0};
    if (!*words)
        return RUNS_LIST;
    if (strcmp(words, "--curve") == 0)
        return RUNS_CURVE;
    if (strncmp(words, flag, sizeof flag - 1) != 0 || !strspn(words + sizeof flag - 1, blanks))
        return RUNS_UNKNOWN;
    words += sizeof flag - 1;
    words += strspn(words, blanks);
    size_t length = strcspn(words, blanks);
    text_append(&first, words, length);
    bool ok = runs_read_id(text_string(&first), &ret_pair[0]) &&
              runs_read_id(words + length + strspn(words + length, blanks), &ret_pair[1]);
    text_fini(&first);
    return ok ? RUNS_PAIR : RUNS_UNKNOWN;
}

bool runs_read_since(const char *text, int64_t *ret)
{
    int year, month, day, used = 0;
    int64_t count;
    size_t length = strlen(text);
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used && !text[used]) {
        struct tm when = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1};
        time_t seconds = mktime(&when); /* a day that is none, such as the 31st of February, moves */
        *ret = (int64_t)seconds * 1000;
        return seconds != (time_t)-1 && when.tm_mon == month - 1 && when.tm_mday == day;
    }
    char digits[16];
    if (length < 2 || length > 7)
        return false;
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    int64_t hours = text[length - 1] == 'h' ? 1 : text[length - 1] == 'd' ? 24 : 0;
    if (!hours || !runs_read_id(digits, &count))
        return false;
    *ret = ((int64_t)time(NULL) - count * hours * 3600) * 1000;
    return true;
}

ll_status runs_open(ll_runlog **ret, ll_error *error)
{
    struct text path = {0};
    ll_runlog_options options;
    ll_runlog_options_init(&options);
    options.read_only = true;
    *ret = NULL;
    recorder_path(&path);
    ll_status status =
        path.length && !path.failed ? ll_runlog_open(text_string(&path), &options, ret, error) : LL_NOT_FOUND;
    if (status == LL_UNSUPPORTED) { /* an older one is brought up by writing, a newer one says so again */
        options.read_only = false;
        status = ll_runlog_open(text_string(&path), &options, ret, error);
    }
    text_fini(&path);
    return status == LL_NOT_FOUND ? LL_OK : status;
}

/* ---- the columns ---- */

enum kind {
    KIND_ID,
    KIND_BEGAN,
    KIND_SECONDS,
    KIND_END,
    KIND_NAME,
    KIND_COUNT,
    KIND_BYTES,
    KIND_SUM,
    KIND_REAL,
    KIND_SHARE,
    KIND_JOULES
};

struct column {
    const char *name; /* in JSON and CSV */
    enum kind kind;
    size_t offset;    /* of its field; KIND_SUM: of an array of components */
    const char *head; /* in the table; NULL: not there */
    int rank;         /* in the table: the highest goes first when there is no room; 0: stays */
};

#define AT(field) offsetof(ll_runlog_entry, field)
#define PART(array, part) (offsetof(ll_runlog_entry, array) + (part) * sizeof(uint64_t))

static const struct column columns_of_log[] = {
    {"id", KIND_ID, AT(id), "run", 0},
    {"began", KIND_BEGAN, AT(began), "began", 1},
    {"seconds", KIND_SECONDS, 0, "took", 5},
    {"verb", KIND_NAME, AT(verb), "verb", 0},
    {"model", KIND_NAME, AT(model), "model", 2},
    {"identity", KIND_NAME, AT(identity), NULL, 0},
    {"weights", KIND_NAME, AT(weights), NULL, 0},
    {"context", KIND_COUNT, AT(context), "context", 6},
    {"windows", KIND_COUNT, AT(windows), NULL, 0},
    {"width", KIND_COUNT, AT(width), NULL, 0},
    {"kv", KIND_NAME, AT(kv), "KV", 12},
    {"device", KIND_NAME, AT(device), NULL, 0},
    {"backend", KIND_NAME, AT(backend), NULL, 0},
    {"tokens_in", KIND_COUNT, AT(tokens_in), "in", 9},
    {"tokens_out", KIND_COUNT, AT(tokens_out), "out", 8},
    {"first_token_seconds", KIND_REAL, AT(first_token_seconds), "first", 10},
    {"token_seconds", KIND_REAL, AT(token_seconds), "a token", 7},
    {"predicted_weights", KIND_BYTES, PART(predicted, LL_WEIGHTS), NULL, 0},
    {"predicted_cache", KIND_BYTES, PART(predicted, LL_CACHE), NULL, 0},
    {"predicted_scratch", KIND_BYTES, PART(predicted, LL_SCRATCH), NULL, 0},
    {"predicted_logits", KIND_BYTES, PART(predicted, LL_LOGITS), NULL, 0},
    {"predicted_program", KIND_BYTES, PART(predicted, LL_PROGRAM), NULL, 0},
    {"predicted_total", KIND_SUM, AT(predicted), "planned", 11},
    {"peak_weights", KIND_BYTES, PART(peak, LL_WEIGHTS), NULL, 0},
    {"peak_cache", KIND_BYTES, PART(peak, LL_CACHE), NULL, 0},
    {"peak_scratch", KIND_BYTES, PART(peak, LL_SCRATCH), NULL, 0},
    {"peak_logits", KIND_BYTES, PART(peak, LL_LOGITS), NULL, 0},
    {"peak_program", KIND_BYTES, PART(peak, LL_PROGRAM), NULL, 0},
    {"peak_total", KIND_SUM, AT(peak), "peak", 3},
    {"resident_peak", KIND_BYTES, AT(resident_peak), NULL, 0},
    {"coverage", KIND_SHARE, AT(coverage), "read", 13},
    {"joules", KIND_JOULES, AT(joules), NULL, 0},
    {"end", KIND_END, 0, "end", 0},
    {"version", KIND_NAME, AT(version), NULL, 0},
};
enum { COLUMNS = sizeof columns_of_log / sizeof *columns_of_log, MOST_RANK = 13 };

uint64_t runs_total(const uint64_t bytes[LL_COMPONENTS])
{
    uint64_t sum = 0;
    for (int i = 0; i < LL_COMPONENTS; i++)
        sum = bytes[i] > UINT64_MAX - sum ? UINT64_MAX : sum + bytes[i];
    return sum;
}

static const void *field(const ll_runlog_entry *entry, const struct column *column)
{
    return (const char *)entry + column->offset;
}

/* NULL: the column holds a number. */
static const char *name_in(const ll_runlog_entry *entry, const struct column *column)
{
    if (column->kind == KIND_NAME)
        return field(entry, column);
    if (column->kind != KIND_END)
        return NULL;
    return entry->state == LL_RUN_GOING ? "going" : entry->state == LL_RUN_CUT ? "cut" : entry->end;
}

/* NAN: unknown, or the column holds no number. */
static double number_in(const ll_runlog_entry *entry, const struct column *column)
{
    uint64_t count = 0;
    double real;
    switch (column->kind) {
    case KIND_ID:
        return (double)entry->id;
    case KIND_SECONDS:
        return entry->ended ? (double)(entry->ended - entry->began) / 1000.0 : (double)NAN;
    case KIND_COUNT:
    case KIND_BYTES:
        memcpy(&count, field(entry, column), sizeof count);
        return count ? (double)count : (double)NAN;
    case KIND_SUM:
        count = runs_total(field(entry, column));
        return count ? (double)count : (double)NAN;
    case KIND_REAL:
    case KIND_SHARE:
    case KIND_JOULES:
        memcpy(&real, field(entry, column), sizeof real);
        return real;
    default:
        return (double)NAN;
    }
}

static bool is_whole(enum kind kind)
{
    return kind == KIND_ID || kind == KIND_COUNT || kind == KIND_BYTES || kind == KIND_SUM;
}

static void put_moment(struct text *out, int64_t milliseconds, bool local)
{
    time_t seconds = (time_t)(milliseconds / 1000);
    struct tm when;
    char text[40];
    if ((local ? localtime_r(&seconds, &when) : gmtime_r(&seconds, &when)) &&
        strftime(text, sizeof text, local ? "%Y-%m-%d %H:%M" : "%Y-%m-%dT%H:%M:%SZ", &when))
        text_puts(out, text);
}

/* As programs read it; nothing when it is unknown. */
static void put_plain(struct text *out, const ll_runlog_entry *entry, const struct column *column)
{
    double number = number_in(entry, column);
    const char *name = name_in(entry, column);
    if (column->kind == KIND_BEGAN)
        put_moment(out, entry->began, false);
    else if (name)
        escape_append_line(out, name);
    else if (!isnan(number))
        text_printf(out, is_whole(column->kind) ? "%.0f" : "%.6g", number);
}

/* As people read it; "-" when it is unknown. */
static void put_human(struct text *out, const ll_runlog_entry *entry, const struct column *column)
{
    double number = number_in(entry, column);
    const char *name = name_in(entry, column);
    if (column->kind == KIND_BEGAN)
        put_moment(out, entry->began, true);
    else if (name)
        escape_append_line(out, *name ? name : "-");
    else if (isnan(number))
        text_putc(out, '-');
    else if (column->kind == KIND_ID)
        text_printf(out, "%.0f", number);
    else if (column->kind == KIND_COUNT)
        text_puts(out, human_count((uint64_t)number).text);
    else if (column->kind == KIND_BYTES || column->kind == KIND_SUM)
        text_puts(out, human_bytes((uint64_t)number).text);
    else if (column->kind == KIND_SHARE)
        text_puts(out, human_share(number).text);
    else if (column->kind == KIND_JOULES)
        text_printf(out, "%.1f J", number);
    else if (column->kind == KIND_REAL && number < 1.0)
        text_printf(out, "%.1f ms", number * 1000.0);
    else
        text_puts(out, human_seconds(number).text);
}

static json_t *entry_json(const ll_runlog_entry *entry)
{
    json_t *object = json_object();
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns_of_log[i];
        double number = number_in(entry, column);
        struct text plain = {0};
        json_t *value = NULL;
        put_plain(&plain, entry, column);
        if (!plain.length)
            value = json_null();
        else if (isnan(number))
            value = json_string(text_string(&plain));
        else
            value = is_whole(column->kind) ? json_integer((json_int_t)number) : json_real(number);
        json_object_set_new(object, column->name, value);
        text_fini(&plain);
    }
    return object;
}

static void put_json(struct text *out, json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    text_puts(out, text ? text : "");
    text_putc(out, '\n');
    out->failed |= !text;
    free(text);
}

static void put_quoted(struct text *out, const char *value)
{
    bool quoted = strpbrk(value, ",\"\n\r") != NULL;
    if (quoted)
        text_putc(out, '"');
    for (; *value; value++)
        text_append(out, *value == '"' ? "\"\"" : value, *value == '"' ? 2 : 1);
    if (quoted)
        text_putc(out, '"');
}

/* ---- lists ---- */

struct list {
    ll_runlog_entry *entries;
    size_t count, capacity;
    bool failed;
};

static ll_flow add_entry(void *user, const ll_runlog_entry *entry)
{
    struct list *list = user;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        ll_runlog_entry *entries = realloc(list->entries, capacity * sizeof *entries);
        list->failed = !entries;
        if (!entries)
            return LL_STOP;
        list->entries = entries;
        list->capacity = capacity;
    }
    list->entries[list->count++] = *entry;
    return LL_CONTINUE;
}

static ll_status read_list(const ll_runlog_filter *filter, struct list *list, ll_error *error)
{
    ll_runlog *log;
    ll_status status = runs_open(&log, error);
    if (status == LL_OK && log)
        status = ll_runlog_query(log, filter, add_entry, list, error);
    ll_runlog_close(log);
    if (status == LL_OK && list->failed) {
        *error = (ll_error){.status = LL_NOMEM, .offset = -1, .where = "run log"};
        snprintf(error->text, sizeof error->text,
                 "there is no memory for so many runs; --last N shows fewer");
        status = LL_NOMEM;
    }
    return status;
}

static size_t column_width(const struct list *list, const struct column *column, size_t from)
{
    size_t widest = text_columns(column->head);
    for (size_t i = from; i < list->count; i++) {
        struct text cell = {0};
        put_human(&cell, &list->entries[i], column);
        size_t width = text_columns(text_string(&cell));
        widest = width > widest ? width : widest;
        text_fini(&cell);
    }
    return widest;
}

static void put_cell(struct text *out, const char *cell, size_t width, bool left, bool last)
{
    size_t wide = text_columns(cell);
    if (!left)
        text_printf(out, "%*s", (int)(width - wide), "");
    text_puts(out, cell);
    if (left && !last)
        text_printf(out, "%*s", (int)(width - wide), "");
    text_puts(out, last ? "\n" : "  ");
}

static bool is_left(enum kind kind)
{
    return kind == KIND_NAME || kind == KIND_END || kind == KIND_BEGAN;
}

/* Columns of the highest rank go until the rest has room. Gives the lowest rank that has gone. */
static int choose_rank(const size_t *widths, size_t columns)
{
    int rank = MOST_RANK + 1;
    for (; columns && rank > 1; rank--) {
        size_t sum = 0;
        for (size_t c = 0; c < COLUMNS; c++)
            if (columns_of_log[c].head && columns_of_log[c].rank < rank)
                sum += widths[c] + 2;
        if (sum <= columns + 2)
            break;
    }
    return rank;
}

static void put_table(const struct list *list, size_t from, size_t columns, struct text *out)
{
    size_t widths[COLUMNS] = {0}, last = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        widths[c] = columns_of_log[c].head ? column_width(list, &columns_of_log[c], from) : 0;
    int rank = choose_rank(widths, columns);
    for (size_t c = 0; c < COLUMNS; c++)
        last = columns_of_log[c].head && columns_of_log[c].rank < rank ? c : last;
    for (size_t row = from; row <= list->count; row++) /* the heads, then the runs */
        for (size_t c = 0; c < COLUMNS; c++) {
            const struct column *column = &columns_of_log[c];
            struct text cell = {0};
            if (!column->head || column->rank >= rank)
                continue;
            if (row == from)
                text_puts(&cell, column->head);
            else
                put_human(&cell, &list->entries[row - 1], column);
            put_cell(out, text_string(&cell), widths[c], is_left(column->kind), c == last);
            text_fini(&cell);
        }
}

static void show_text(const struct list *list, const ll_runlog_filter *filter, size_t columns,
                      struct text *out)
{
    size_t from = !filter->last && list->count > RUNS_USUAL ? list->count - RUNS_USUAL : 0;
    if (!list->count) {
        text_puts(out, "no such run is in the log\n");
        return;
    }
    put_table(list, from, columns, out);
    if (from)
        text_printf(out, "the newest %d of %s\n", RUNS_USUAL, human_count(list->count).text);
}

static void show_csv(const struct list *list, struct text *out)
{
    for (size_t c = 0; c < COLUMNS; c++)
        text_printf(out, "%s%s", c ? "," : "", columns_of_log[c].name);
    text_putc(out, '\n');
    for (size_t i = 0; i < list->count; i++)
        for (size_t c = 0; c < COLUMNS; c++) {
            struct text cell = {0};
            put_plain(&cell, &list->entries[i], &columns_of_log[c]);
            text_puts(out, c ? "," : "");
            put_quoted(out, text_string(&cell));
            text_puts(out, c + 1 == COLUMNS ? "\n" : "");
            text_fini(&cell);
        }
}

ll_status runs_show(enum runs_form form, const ll_runlog_filter *filter, size_t columns, struct text *out,
                    ll_error *error)
{
    struct list list = {0};
    ll_status status = read_list(filter, &list, error);
    if (status == LL_OK && form == RUNS_JSON) {
        json_t *rows = json_array();
        for (size_t i = 0; i < list.count; i++)
            json_array_append_new(rows, entry_json(&list.entries[i]));
        put_json(out, json_pack("{s:o}", "runs", rows));
    } else if (status == LL_OK && form == RUNS_CSV) {
        show_csv(&list, out);
    } else if (status == LL_OK) {
        show_text(&list, filter, columns, out);
    }
    free(list.entries);
    return status;
}

/* ---- two runs side by side ---- */

static ll_status read_one(int64_t id, struct list *list, ll_error *error)
{
    ll_runlog_filter filter;
    ll_runlog_filter_init(&filter);
    filter.id = id;
    size_t before = list->count;
    ll_status status = read_list(&filter, list, error);
    if (status == LL_OK && list->count == before) {
        *error = (ll_error){.status = LL_NOT_FOUND, .offset = -1, .where = "run log"};
        snprintf(error->text, sizeof error->text, "there is no run %lld in it; `longleaf log` lists them",
                 (long long)id);
        status = LL_NOT_FOUND;
    }
    return status;
}

/* By how much B is more than A; NAN where that has no meaning. */
static double change_of(const ll_runlog_entry *entries, const struct column *column)
{
    double a = number_in(&entries[0], column), b = number_in(&entries[1], column);
    return column->kind == KIND_ID || !(a > 0.0) ? (double)NAN : (b - a) / a;
}

/* Five per cent worse, in what has a good and a bad direction: less is worse of what was read, more of all
 * times, peaks and energy. */
static bool is_worse(const ll_runlog_entry *entries, const struct column *column)
{
    static const char *const costs[] = {"seconds",    "first_token_seconds", "token_seconds",
                                        "peak_total", "resident_peak",       "joules"};
    double change = change_of(entries, column);
    if (isnan(change))
        return false;
    if (column->kind == KIND_SHARE)
        return change < -0.05;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (strcmp(costs[i], column->name) == 0)
            return change > 0.05;
    return false;
}

static void put_regressions(const ll_runlog_entry *entries, struct text *out)
{
    size_t count = 0;
    for (size_t c = 0; c < COLUMNS; c++)
        if (is_worse(entries, &columns_of_log[c]))
            text_printf(out, "%s%s by %.0f %%",
                        count++ ? ", " : "\nworse in the second: ", columns_of_log[c].name,
                        fabs(change_of(entries, &columns_of_log[c])) * 100.0);
    text_puts(out, count ? "\n" : "\nnothing is worse in the second by more than 5 %\n");
}

static bool is_hash(const struct column *column)
{
    return strcmp(column->name, "identity") == 0;
}

/* Of the widest cell of one run. */
static size_t cell_width(const ll_runlog_entry *entry)
{
    size_t widest = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        struct text cell = {0};
        if (!is_hash(&columns_of_log[c]))
            put_human(&cell, entry, &columns_of_log[c]);
        size_t width = text_columns(text_string(&cell));
        widest = width > widest ? width : widest;
        text_fini(&cell);
    }
    return widest;
}

static void put_comparison(enum runs_form form, const ll_runlog_entry *entries, const struct column *column,
                           const size_t widths[2], struct text *out)
{
    struct text a = {0}, b = {0};
    double change = change_of(entries, column);
    if (form == RUNS_CSV) {
        put_plain(&a, &entries[0], column);
        put_plain(&b, &entries[1], column);
        text_printf(out, "%s,", column->name);
        put_quoted(out, text_string(&a));
        text_putc(out, ',');
        put_quoted(out, text_string(&b));
        text_putc(out, ',');
        if (!isnan(change))
            text_printf(out, "%.6g", change);
        text_putc(out, '\n');
    } else {
        bool hash = is_hash(column);
        put_human(&a, &entries[0], column);
        put_human(&b, &entries[1], column);
        text_printf(out, "%-20s ", column->name);
        put_cell(out, hash ? "" : text_string(&a), widths[0], true, false);
        if (hash) {
            text_puts(out, strcmp(text_string(&a), text_string(&b)) == 0 ? "the same\n" : "not the same\n");
        } else if (isnan(change)) {
            put_cell(out, text_string(&b), 0, true, true);
        } else {
            put_cell(out, text_string(&b), widths[1], true, false);
            text_printf(out, "%+.1f %%\n", change * 100.0);
        }
    }
    text_fini(&a);
    text_fini(&b);
}

static void compare_json(const ll_runlog_entry *entries, struct text *out)
{
    json_t *changes = json_object(), *worse = json_array();
    for (size_t c = 0; c < COLUMNS; c++) {
        double change = change_of(entries, &columns_of_log[c]);
        if (!isnan(change))
            json_object_set_new(changes, columns_of_log[c].name, json_real(change));
        if (is_worse(entries, &columns_of_log[c]))
            json_array_append_new(worse, json_string(columns_of_log[c].name));
    }
    put_json(out, json_pack("{s:o, s:o, s:o, s:o}", "a", entry_json(&entries[0]), "b",
                            entry_json(&entries[1]), "changes", changes, "worse", worse));
}

ll_status runs_compare(enum runs_form form, int64_t a, int64_t b, struct text *out, ll_error *error)
{
    struct list list = {0};
    ll_status status = read_one(a, &list, error);
    if (status == LL_OK)
        status = read_one(b, &list, error);
    if (status == LL_OK && form == RUNS_JSON)
        compare_json(list.entries, out);
    if (status == LL_OK && form == RUNS_CSV)
        text_puts(out, "what,a,b,change\n");
    if (status == LL_OK && form != RUNS_JSON) {
        size_t widths[2] = {cell_width(&list.entries[0]), cell_width(&list.entries[1])};
        for (size_t c = 0; c < COLUMNS; c++)
            put_comparison(form, list.entries, &columns_of_log[c], widths, out);
        if (form == RUNS_TEXT)
            put_regressions(list.entries, out);
    }
    free(list.entries);
    return status;
}
