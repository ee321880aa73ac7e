/* The string methods of templates.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "text/template_run.h"

typedef const struct text text;

/* ---- shared with filters ---- */

/* Writes one character in another case, as foreign as the one it comes from. */
static void put_case(struct text_builder *builder, text *from, size_t at, size_t step, bool upper)
{
    int32_t code = utf8_decode(from->bytes + at, step, &(size_t){0});
    char bytes[4];
    if (code == UTF8_BAD)
        builder_part(builder, from, at, at + step);
    else if (upper && code == 0xDF)
        builder_bytes(builder, "SS", 2, text_is_foreign(from, at));
    else {
        size_t length = utf8_encode(upper ? utf8proc_toupper(code) : utf8proc_tolower(code), bytes);
        builder_bytes(builder, bytes, length, text_is_foreign(from, at));
    }
}

static bool is_cased(int32_t code)
{
    return code >= 0 && (utf8proc_tolower(code) != code || utf8proc_toupper(code) != code);
}

/* how: l(ower), u(pper), c(apitalize), t(itle: as Python, every letter after a non-letter),
 * j (title as the filter: after a space, a dash or an opening bracket). */
bool text_case(struct template_run *run, text *from, char how, struct value *ret)
{
    struct text_builder builder = {.arena = run->arena};
    bool start = true;
    size_t step;
    for (size_t at = 0; at < from->length && !run->arena->failed; at += step) {
        int32_t code = utf8_decode(from->bytes + at, from->length - at, &step);
        put_case(&builder, from, at, step, how == 'u' || (how != 'l' && start));
        start = how == 't'   ? !is_cased(code)
                : how == 'j' ? code_is_blank(code) || (code > 0 && code < 128 && strchr("-({[<", code))
                             : false;
    }
    *ret = builder_value(&builder);
    return run_spend(run, 16 * from->length);
}

static bool in_set(text *set, const char *bytes, size_t length)
{
    return set ? set->length && bytes_find(set->bytes, set->length, bytes, length) != NULL
               : code_is_blank(utf8_decode(bytes, length, &(size_t){0}));
}

bool text_strip(struct template_run *run, text *from, text *set, bool left, bool right, struct value *ret)
{
    size_t start = 0, end = left ? 0 : from->length, step;
    while (left && start < from->length) {
        (void)utf8_decode(from->bytes + start, from->length - start, &step);
        if (!in_set(set, from->bytes + start, step))
            break;
        start += step;
    }
    for (size_t at = end = start; right && at < from->length; at += step) {
        (void)utf8_decode(from->bytes + at, from->length - at, &step);
        if (!in_set(set, from->bytes + at, step))
            end = at + step;
    }
    *ret = value_slice(run->arena, from, start, right ? end : from->length);
    return run_spend(run, from->length);
}

static const char *find_in(text *from, size_t start, text *what)
{
    return bytes_find(from->bytes + start, from->length - start, what->bytes, what->length);
}

bool text_replace(struct template_run *run, text *from, text *old, text *new_text, int64_t most,
                  struct value *ret)
{
    struct text_builder builder = {.arena = run->arena};
    size_t at = 0, step;
    for (; most != 0 && !run->arena->failed; most--) {
        const char *found = find_in(from, at, old);
        if (!found)
            break;
        builder_part(&builder, from, at, (size_t)(found - from->bytes));
        builder_text(&builder, new_text);
        at = (size_t)(found - from->bytes) + old->length;
        if (!run_spend(run, new_text->length))
            return false;
        if (old->length == 0) { /* between all characters */
            if (at == from->length)
                break;
            (void)utf8_decode(from->bytes + at, from->length - at, &step);
            builder_part(&builder, from, at, at + step);
            at += step;
        }
    }
    builder_part(&builder, from, at, from->length);
    *ret = builder_value(&builder);
    return run_spend(run, from->length);
}

/* ---- arguments ---- */

static bool want_text(struct template_run *run, struct value value, text **ret)
{
    *ret = value.kind == VALUE_TEXT ? value.text : NULL;
    return *ret || run_fail(run, LL_ARGUMENT, "a string is needed, not a %s", value_kind_name(value));
}

static bool want_count(struct template_run *run, struct value value, int64_t *ret)
{
    *ret = value.kind == VALUE_INT ? value.integer : -1;
    if (value.kind == VALUE_INT || value.kind == VALUE_MISSING)
        return true;
    return run_fail(run, LL_ARGUMENT, "an integer is needed, not a %s", value_kind_name(value));
}

#define METHOD(name)                                                                                         \
    static bool name(struct template_run *run, struct value self, const struct arguments *arguments,         \
                     struct value *ret)

/* ---- case and edges ---- */

METHOD(method_lower)
{
    (void)arguments;
    return text_case(run, self.text, 'l', ret);
}

METHOD(method_upper)
{
    (void)arguments;
    return text_case(run, self.text, 'u', ret);
}

METHOD(method_capitalize)
{
    (void)arguments;
    return text_case(run, self.text, 'c', ret);
}

METHOD(method_title)
{
    (void)arguments;
    return text_case(run, self.text, 't', ret);
}

static bool strip(struct template_run *run, struct value self, const struct arguments *arguments, bool left,
                  bool right, struct value *ret)
{
    text *set = NULL;
    struct value given = arguments->at[0];
    if (given.kind != VALUE_MISSING && given.kind != VALUE_NONE && !want_text(run, given, &set))
        return false;
    return text_strip(run, self.text, set, left, right, ret);
}

METHOD(method_strip)
{
    return strip(run, self, arguments, true, true, ret);
}

METHOD(method_lstrip)
{
    return strip(run, self, arguments, true, false, ret);
}

METHOD(method_rstrip)
{
    return strip(run, self, arguments, false, true, ret);
}

static bool starts(text *from, text *with)
{
    return with->length <= from->length && memcmp(from->bytes, with->bytes, with->length) == 0;
}

static bool ends(text *from, text *with)
{
    return with->length <= from->length &&
           memcmp(from->bytes + from->length - with->length, with->bytes, with->length) == 0;
}

/* One string, or a tuple of which any will do. */
static bool edge(struct template_run *run, struct value self, struct value with, bool (*test)(text *, text *),
                 struct value *ret)
{
    text *part;
    if (with.kind != VALUE_LIST) {
        if (!want_text(run, with, &part))
            return false;
        *ret = value_bool(test(self.text, part));
        return true;
    }
    *ret = value_bool(false);
    for (size_t i = 0; i < with.list->count; i++) {
        if (!want_text(run, with.list->items[i], &part))
            return false;
        ret->truth = ret->truth || test(self.text, part);
    }
    return run_spend(run, 64 * with.list->count);
}

METHOD(method_startswith)
{
    return edge(run, self, arguments->at[0], starts, ret);
}

METHOD(method_endswith)
{
    return edge(run, self, arguments->at[0], ends, ret);
}

METHOD(method_removeprefix)
{
    text *part;
    if (!want_text(run, arguments->at[0], &part))
        return false;
    *ret = value_slice(run->arena, self.text, starts(self.text, part) ? part->length : 0, self.text->length);
    return true;
}

METHOD(method_removesuffix)
{
    text *part;
    if (!want_text(run, arguments->at[0], &part))
        return false;
    *ret =
        value_slice(run->arena, self.text, 0, self.text->length - (ends(self.text, part) ? part->length : 0));
    return true;
}

/* ---- finding ---- */

static bool find(struct template_run *run, text *from, struct value what, bool last, struct value *ret)
{
    text *part;
    const char *found = NULL;
    if (!want_text(run, what, &part) || !run_spend(run, from->length))
        return false;
    size_t at = 0;
    for (const char *next; at <= from->length && (next = find_in(from, at, part)) != NULL;) {
        found = next;
        if (!last)
            break;
        at = (size_t)(next - from->bytes) + 1;
        if (!run_spend(run, 0))
            return false;
    }
    *ret = value_int(found ? (int64_t)text_characters(from->bytes, (size_t)(found - from->bytes)) : -1);
    return true;
}

METHOD(method_find)
{
    return find(run, self.text, arguments->at[0], false, ret);
}

METHOD(method_rfind)
{
    return find(run, self.text, arguments->at[0], true, ret);
}

METHOD(method_index)
{
    if (!find(run, self.text, arguments->at[0], false, ret))
        return false;
    return ret->integer >= 0 || run_fail(run, LL_ARGUMENT, "index(): the string is not there");
}

METHOD(method_count)
{
    text *part;
    int64_t count = 0;
    if (!want_text(run, arguments->at[0], &part) || !run_spend(run, self.text->length))
        return false;
    if (part->length == 0)
        count = (int64_t)text_characters(self.text->bytes, self.text->length) + 1;
    else
        for (const char *found = self.text->bytes;
             (found = find_in(self.text, (size_t)(found - self.text->bytes), part)); found += part->length)
            count++;
    *ret = value_int(count);
    return true;
}

METHOD(method_replace)
{
    text *old, *new_text;
    int64_t most;
    return want_text(run, arguments->at[0], &old) && want_text(run, arguments->at[1], &new_text) &&
           want_count(run, arguments->at[2], &most) && text_replace(run, self.text, old, new_text, most, ret);
}

/* ---- splitting and joining ---- */

static bool push_part(struct template_run *run, text *from, size_t start, size_t end, struct value *ret)
{
    struct value part = value_slice(run->arena, from, start, end);
    if (part.kind == VALUE_TEXT)
        list_push(run->arena, ret->list, part);
    return run_spend(run, 64);
}

/* At runs of blanks; none at the ends. */
static bool split_blank(struct template_run *run, text *from, int64_t most, struct value *ret)
{
    size_t at = 0, step;
    for (;;) {
        at += text_skip_blank(from->bytes + at, from->length - at);
        if (at == from->length)
            return true;
        size_t start = at;
        if (most >= 0 && (int64_t)ret->list->count == most)
            return push_part(run, from, start,
                             start + text_without_blank(from->bytes + start, from->length - start), ret);
        while (at < from->length && !code_is_blank(utf8_decode(from->bytes + at, from->length - at, &step)))
            at += step;
        if (!push_part(run, from, start, at, ret))
            return false;
    }
}

static bool split_at(struct template_run *run, text *from, text *at_what, int64_t most, struct value *ret)
{
    size_t at = 0;
    const char *found;
    if (at_what->length == 0)
        return run_fail(run, LL_ARGUMENT, "split() at an empty string");
    while ((most < 0 || (int64_t)ret->list->count < most) && (found = find_in(from, at, at_what)) != NULL) {
        if (!push_part(run, from, at, (size_t)(found - from->bytes), ret))
            return false;
        at = (size_t)(found - from->bytes) + at_what->length;
    }
    return push_part(run, from, at, from->length, ret);
}

/* The last `most` places only: those before them are joined again. */
static bool keep_last(struct template_run *run, text *from, int64_t most, text *at_what, struct value *ret)
{
    struct list *list = ret->list;
    size_t head = list->count - (size_t)most, end = head * at_what->length - at_what->length;
    for (size_t i = 0; i < head; i++)
        end += list->items[i].text->length;
    list->items[head - 1] = value_slice(run->arena, from, 0, end);
    list->items += head - 1;
    list->count -= head - 1;
    list->capacity = list->count;
    return run_done(run);
}

static bool split(struct template_run *run, struct value self, const struct arguments *arguments, bool last,
                  struct value *ret)
{
    struct value given = arguments->at[0];
    text *at_what = NULL;
    int64_t most;
    *ret = value_list(run->arena, false);
    if (!run_done(run) || !run_spend(run, self.text->length) || !want_count(run, arguments->at[1], &most))
        return false;
    if (given.kind == VALUE_MISSING || given.kind == VALUE_NONE)
        return last && most >= 0
                   ? run_fail(run, LL_UNSUPPORTED, "rsplit() at blanks with a limit is not supported")
                   : split_blank(run, self.text, most, ret);
    if (!want_text(run, given, &at_what) || !split_at(run, self.text, at_what, last ? -1 : most, ret))
        return false;
    return last && most >= 0 && (int64_t)ret->list->count - 1 > most
               ? keep_last(run, self.text, most, at_what, ret)
               : true;
}

METHOD(method_split)
{
    return split(run, self, arguments, false, ret);
}

METHOD(method_rsplit)
{
    return split(run, self, arguments, true, ret);
}

static bool is_line_end(int32_t code)
{
    return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

METHOD(method_splitlines)
{
    text *from = self.text;
    size_t start = 0, step;
    (void)arguments;
    *ret = value_list(run->arena, false);
    for (size_t at = 0; at < from->length && run_done(run); at += step) {
        int32_t code = utf8_decode(from->bytes + at, from->length - at, &step);
        if (!is_line_end(code))
            continue;
        if (!push_part(run, from, start, at, ret))
            return false;
        step += code == '\r' && at + 1 < from->length && from->bytes[at + 1] == '\n';
        start = at + step;
    }
    if (start < from->length && run_done(run))
        return push_part(run, from, start, from->length, ret);
    return run_done(run);
}

METHOD(method_partition)
{
    text *part;
    if (!want_text(run, arguments->at[0], &part) || !run_spend(run, self.text->length))
        return false;
    if (part->length == 0)
        return run_fail(run, LL_ARGUMENT, "partition() at an empty string");
    const char *found = find_in(self.text, 0, part);
    size_t end = found ? (size_t)(found - self.text->bytes) : self.text->length;
    size_t behind = found ? end + part->length : end;
    *ret = value_list(run->arena, true);
    return run_done(run) && push_part(run, self.text, 0, end, ret) &&
           push_part(run, self.text, end, behind, ret) &&
           push_part(run, self.text, behind, self.text->length, ret);
}

METHOD(method_join)
{
    struct text_builder builder = {.arena = run->arena};
    const struct list *items;
    text *part;
    if (!run_iterate(run, arguments->at[0], &items))
        return false;
    for (size_t i = 0; i < items->count; i++) {
        if (!want_text(run, items->items[i], &part) || !run_spend(run, part->length + self.text->length))
            return false;
        if (i)
            builder_text(&builder, self.text);
        builder_text(&builder, part);
    }
    *ret = builder_value(&builder);
    return run_done(run);
}

/* ---- questions about every character ---- */

static bool is_digit_code(int32_t code)
{
    return code >= 0 && utf8proc_category(code) == UTF8PROC_CATEGORY_ND;
}

static bool is_letter_code(int32_t code)
{
    utf8proc_category_t category = code >= 0 ? utf8proc_category(code) : UTF8PROC_CATEGORY_CN;
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_letter_or_digit(int32_t code)
{
    return is_letter_code(code) || is_digit_code(code);
}

static bool all_of(struct template_run *run, text *from, bool (*is)(int32_t code), struct value *ret)
{
    size_t step;
    *ret = value_bool(from->length > 0);
    for (size_t at = 0; at < from->length; at += step)
        ret->truth = is(utf8_decode(from->bytes + at, from->length - at, &step)) && ret->truth;
    return run_spend(run, from->length);
}

METHOD(method_isdigit)
{
    (void)arguments;
    return all_of(run, self.text, is_digit_code, ret);
}

METHOD(method_isalpha)
{
    (void)arguments;
    return all_of(run, self.text, is_letter_code, ret);
}

METHOD(method_isalnum)
{
    (void)arguments;
    return all_of(run, self.text, is_letter_or_digit, ret);
}

METHOD(method_isspace)
{
    (void)arguments;
    return all_of(run, self.text, code_is_blank, ret);
}

/* At least one letter that has cases, and none in the other one. */
static bool all_case(struct template_run *run, text *from, bool upper, struct value *ret)
{
    bool some = false, other = false;
    size_t step;
    for (size_t at = 0; at < from->length; at += step) {
        int32_t code = utf8_decode(from->bytes + at, from->length - at, &step);
        bool is_up = code >= 0 && utf8proc_tolower(code) != code;
        bool is_low = code >= 0 && utf8proc_toupper(code) != code;
        some = some || is_up || is_low;
        other = other || (upper ? is_low : is_up);
    }
    *ret = value_bool(some && !other);
    return run_spend(run, from->length);
}

METHOD(method_isupper)
{
    (void)arguments;
    return all_case(run, self.text, true, ret);
}

METHOD(method_islower)
{
    (void)arguments;
    return all_case(run, self.text, false, ret);
}

const struct native *text_method_find(const char *name)
{
    static const struct native natives[] = {
        {"lower", "", 0, method_lower},
        {"upper", "", 0, method_upper},
        {"capitalize", "", 0, method_capitalize},
        {"title", "", 0, method_title},
        {"strip", "chars", 0, method_strip},
        {"lstrip", "chars", 0, method_lstrip},
        {"rstrip", "chars", 0, method_rstrip},
        {"startswith", "prefix", 1, method_startswith},
        {"endswith", "suffix", 1, method_endswith},
        {"removeprefix", "prefix", 1, method_removeprefix},
        {"removesuffix", "suffix", 1, method_removesuffix},
        {"find", "sub", 1, method_find},
        {"rfind", "sub", 1, method_rfind},
        {"index", "sub", 1, method_index},
        {"count", "sub", 1, method_count},
        {"replace", "old new count", 2, method_replace},
        {"split", "sep maxsplit", 0, method_split},
        {"rsplit", "sep maxsplit", 0, method_rsplit},
        {"splitlines", "", 0, method_splitlines},
        {"partition", "sep", 1, method_partition},
        {"join", "items", 1, method_join},
        {"isdigit", "", 0, method_isdigit},
        {"isalpha", "", 0, method_isalpha},
        {"isalnum", "", 0, method_isalnum},
        {"isspace", "", 0, method_isspace},
        {"isupper", "", 0, method_isupper},
        {"islower", "", 0, method_islower},
    };
    return native_find(natives, sizeof natives / sizeof *natives, name);
}
