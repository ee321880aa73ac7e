/* Renders chat templates: a bounded, sandboxed interpreter of the Jinja that published ones use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/template.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "text/template_json.h"

enum {
    SOURCE_MAX = 1 << 20,  /* published templates are below 64 KiB */
    TREE_MAX = 256 << 20,  /* bytes of the parsed form */
    RENDER_MAX = 64 << 20, /* bytes beside COPIES of the input */
    COPIES = 32,           /* of the messages that a rendering may make */
    STEPS_MAX = 5 * 1000 * 1000,
};

static const char where[] = "chat template";

struct template
{
    struct arena arena;
    const struct node *first;
};

ll_status template_open(const char *source, size_t length, struct template **ret, ll_error *error)
{
    if (length > SOURCE_MAX)
        return error_set(error, LL_FORMAT, where, "%zu bytes are too many for a template", length);
    struct template *template = mem_new(1, sizeof *template);
    if (!template)
        return error_nomem(error, where, sizeof *template);
    struct template_fault fault = {.error = error};
    struct lexed lexed = {0};
    struct node *first = NULL;
    template->arena.limit = TREE_MAX;
    struct parser parser = {.arena = &template->arena, .fault = &fault};
    if (template_lex(&template->arena, &fault, source, length, &lexed)) {
        parser.token = lexed.tokens;
        template_parse(&parser, &first);
    }
    if (fault.status == LL_OK && template->arena.failed)
        fault.status = error_nomem(error, where, length);
    template->first = first;
    if (fault.status == LL_OK)
        *ret = template;
    else
        template_close(template);
    return fault.status;
}

void template_close(struct template *template)
{
    if (!template)
        return;
    arena_fini(&template->arena);
    mem_free(template);
}

/* ---- the variables ---- */

static bool is_known_role(const char *role, size_t length)
{
    static const char *const known[] = {"system", "user", "assistant", "tool", "developer"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && memcmp(known[i], role, length) == 0)
            return true;
    return false;
}

static bool put(struct arena *arena, struct dict *dict, const char *key, struct value value)
{
    return value.kind != VALUE_MISSING && dict_put(arena, dict, key, value);
}

static struct value make_content(struct arena *arena, const struct template_input *input,
                                 const ll_message *message)
{
    struct value text = value_text(arena, message->text ? message->text : "", message->length, true);
    if (!input->typed_content)
        return text;
    struct value list = value_list(arena, false), part = value_dict(arena);
    if (arena->failed || !put(arena, part.dict, "type", value_text(arena, "text", 4, false)) ||
        !put(arena, part.dict, "text", text) || !list_push(arena, list.list, part))
        return (struct value){.kind = VALUE_MISSING};
    return list;
}

static struct value make_messages(struct arena *arena, const struct template_input *input)
{
    struct value list = value_list(arena, false);
    for (size_t i = 0; i < input->count && !arena->failed; i++) {
        const ll_message *message = &input->messages[i];
        struct value dict = value_dict(arena);
        size_t length = strlen(message->role);
        if (arena->failed ||
            !put(arena, dict.dict, "role",
                 value_text(arena, message->role, length, !is_known_role(message->role, length))) ||
            !put(arena, dict.dict, "content", make_content(arena, input, message)))
            break;
        list_push(arena, list.list, dict);
    }
    return list;
}

/* Roles in messages given as JSON are the template's words where they are known ones. */
static void trust_roles(struct arena *arena, struct value messages)
{
    for (size_t i = 0; messages.kind == VALUE_LIST && i < messages.list->count; i++) {
        struct value message = messages.list->items[i];
        const struct value *role = message.kind == VALUE_DICT ? dict_get(message.dict, "role") : NULL;
        if (role && role->kind == VALUE_TEXT && is_known_role(role->text->bytes, role->text->length))
            put(arena, message.dict, "role", value_text(arena, role->text->bytes, role->text->length, false));
    }
}

static bool define_more(struct template_run *run, const struct template_input *input)
{
    if (!input->more)
        return true;
    struct value more = template_from_json(run->arena, input->more, input->more_length);
    if (more.kind != VALUE_DICT)
        return run->arena->failed ? run_done(run)
                                  : run_fail(run, LL_ARGUMENT, "the template's variables are no JSON object");
    for (size_t i = 0; i < more.dict->count; i++) {
        const struct text *key = more.dict->keys[i].text;
        char *name = arena_new(run->arena, key->length + 1, 1);
        if (!name)
            return run_done(run);
        memcpy(name, key->bytes, key->length);
        if (strcmp(name, "messages") == 0)
            trust_roles(run->arena, more.dict->values[i]);
        if (!run_define(run, name, more.dict->values[i]))
            return false;
    }
    return true;
}

static bool define_all(struct template_run *run, const struct template_input *input)
{
    const char *bos = input->bos ? input->bos : "", *eos = input->eos ? input->eos : "";
    return run_define(run, "messages", make_messages(run->arena, input)) &&
           run_define(run, "add_generation_prompt", value_bool(input->open_answer)) &&
           run_define(run, "bos_token", value_text(run->arena, bos, strlen(bos), false)) &&
           run_define(run, "eos_token", value_text(run->arena, eos, strlen(eos), false)) &&
           run_define(run, "tools", value_none()) && run_define(run, "documents", value_none()) &&
           define_more(run, input) && run_done(run);
}

/* ---- rendering ---- */

static ll_status give(const struct text_builder *out, struct template_output *ret, ll_error *error)
{
    struct template_output made = {0};
    strbuf_append(&made.text, out->bytes ? out->bytes : "", out->length);
    made.foreign = mem_new(out->count, sizeof *made.foreign);
    if (made.text.failed || !made.foreign) {
        template_output_fini(&made);
        return error_nomem(error, where, out->length);
    }
    for (size_t i = 0; i < out->count; i++)
        made.foreign[i] = (struct template_span){out->ranges[i].start, out->ranges[i].end};
    made.foreign_count = out->count;
    *ret = made;
    return LL_OK;
}

ll_status template_render(const struct template *template, const struct template_input *input,
                          struct template_output *ret, ll_error *error)
{
    uint64_t limit = RENDER_MAX, size = input->more_length;
    for (size_t i = 0; i < input->count; i++)
        if (!mem_add(size, input->messages[i].length, &size))
            return error_nomem(error, where, SIZE_MAX);
    if (!mem_multiply(size, COPIES, &size) || !mem_add(limit, size, &limit))
        return error_nomem(error, where, SIZE_MAX);
    struct arena arena = {.limit = (size_t)limit};
    struct text_builder out = {.arena = &arena};
    struct frame frame = {0};
    struct template_run run = {.arena = &arena,
                               .fault = {.error = error},
                               .steps = STEPS_MAX + limit / 64,
                               .line = 1,
                               .frame = &frame,
                               .out = &out};
    if (define_all(&run, input))
        run_statements(&run, template->first);
    ll_status status = run.fault.status;
    if (status == LL_OK)
        status = run_done(&run) ? give(&out, ret, error) : run.fault.status;
    arena_fini(&arena);
    return status;
}

void template_output_fini(struct template_output *output)
{
    strbuf_fini(&output->text);
    mem_free(output->foreign);
    *output = (struct template_output){0};
}
