/* Magics that keep a conversation with its computed state in a file, and go on with it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files are those of the terminal's /save and /open: the session's snapshot, and in it the
 * conversation. */
#include <stdlib.h>
#include <string.h>

#include "console/human.h"
#include "jupyter_kernel/magic.h"

static bool needs_file(struct turn *turn, const struct call *call)
{
    if (call->argument_length)
        return false;
    output_fail(turn->output, FAIL_USAGE, "%%%s needs the name of a file after it", call->name);
    return true;
}

bool magic_save(struct turn *turn, const struct call *call, json_t **ret)
{
    const struct talk *talk = turn->talk;
    struct text bytes = {0};
    ll_error error = {0};
    if (needs_file(turn, call) || !talk_open_model(turn))
        return false;
    const char **names = calloc(talk->document_count + 1, sizeof *names);
    for (size_t i = 0; names && i < talk->document_count; i++)
        names[i] = talk->documents[i].path;
    conversation_write(&talk->conversation, names, names ? talk->document_count : 0, &bytes);
    free(names);
    ll_run run = turn_run(turn);
    ll_status status = bytes.failed ? LL_NOMEM
                                    : ll_session_save(talk->session, call->argument, text_string(&bytes),
                                                      bytes.length, &run, &error);
    if (status != LL_OK && bytes.failed)
        output_fail(turn->output, FAIL_MEMORY, "there is no memory to write the conversation");
    else if (status != LL_OK)
        output_fail_error(turn->output, FAIL_FILE, &error);
    else {
        size_t tokens = ll_session_position(talk->session);
        *ret = bundle_line("%zu messages and the state of %s tokens are in %s", talk->conversation.now.count,
                           human_count(tokens).text, call->argument);
        json_put_count(bundle_object(*ret), "messages", talk->conversation.now.count);
        json_put_count(bundle_object(*ret), "tokens", tokens);
        json_put_string(bundle_object(*ret), "path", call->argument);
    }
    text_fini(&bytes);
    return status == LL_OK;
}

/* ---- opening ---- */

struct returning { /* documents of the conversation, attached again where they still are */
    struct turn *turn;
    size_t missing;
};

static void attach_again(void *user, const char *path)
{
    struct returning *returning = user;
    const struct talk *talk = returning->turn->talk;
    struct output unheard;
    struct turn quiet;
    for (size_t i = 0; i < talk->document_count; i++)
        if (strcmp(talk->documents[i].path, path) == 0)
            return;
    output_init(&unheard, returning->turn->output->channel, returning->turn->output->request);
    unheard.silent = true;
    turn_init(&quiet, returning->turn->talk, &unheard, returning->turn->cancel);
    if (!talk_attach(&quiet, path))
        returning->missing++;
    turn_fini(&quiet);
    output_fini(&unheard);
}

static bool read_attached(struct turn *turn, const char *path, char **ret, size_t *ret_length)
{
    ll_error error = {0};
    char *bytes = NULL;
    ll_status status = ll_snapshot_attached(path, NULL, 0, ret_length, &error);
    if (status == LL_OK && !(bytes = malloc(*ret_length + 1))) {
        output_fail(turn->output, FAIL_MEMORY, "there is no memory for the conversation in %s", path);
        return false;
    }
    if (status == LL_OK)
        status = ll_snapshot_attached(path, bytes, *ret_length, ret_length, &error);
    if (status != LL_OK) {
        free(bytes);
        output_fail_error(turn->output, FAIL_FILE, &error);
        return false;
    }
    *ret = bytes;
    return true;
}

/* The session first: when it refuses the file, the conversation stays as it is. */
static bool take(struct turn *turn, const char *path, const char *bytes, size_t length, size_t *ret_missing)
{
    struct talk *talk = turn->talk;
    struct conversation read = {0};
    struct text problem = {0};
    struct returning returning = {.turn = turn};
    ll_run run = turn_run(turn);
    ll_error error = {0};
    bool ok = conversation_read(&read, bytes, length, attach_again, &returning, &problem);
    if (!ok)
        output_fail(turn->output, FAIL_FILE, "%s: %s", path, text_string(&problem));
    else if (ll_session_load(talk->session, path, &run, &error) != LL_OK) {
        output_fail_error(turn->output, FAIL_FILE, &error);
        conversation_fini(&read);
        ok = false;
    } else {
        conversation_fini(&talk->conversation);
        talk->conversation = read;
        talk->retries = 0;
    }
    text_fini(&problem);
    *ret_missing = returning.missing;
    return ok;
}

bool magic_open(struct turn *turn, const struct call *call, json_t **ret)
{
    char *bytes = NULL;
    size_t length = 0, missing = 0;
    if (needs_file(turn, call) || !talk_open_model(turn) ||
        !read_attached(turn, call->argument, &bytes, &length))
        return false;
    bool ok = take(turn, call->argument, bytes, length, &missing);
    free(bytes);
    if (ok && missing)
        *ret = bundle_line("%zu messages are back; %zu of their documents are not there any more",
                           turn->talk->conversation.now.count, missing);
    else if (ok)
        *ret = bundle_line("%zu messages are back, and nothing of them needs computing",
                           turn->talk->conversation.now.count);
    if (ok) {
        json_put_count(bundle_object(*ret), "messages", turn->talk->conversation.now.count);
        json_put_count(bundle_object(*ret), "missing_documents", missing);
    }
    return ok;
}
