/* Where the prompt of run comes from, and how it becomes tokens.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/say.h"
#include "repl/signals.h"

enum { MOST_BYTES = 1 << 28 }; /* no model's context holds as much */

void prompt_fini(struct prompt *prompt)
{
    text_fini(&prompt->text);
    free(prompt->tokens);
    *prompt = (struct prompt){0};
}

/* Everything that comes from fd, up to a zero byte; false with errno set. Interrupted by a signal that
 * asks to stop. */
static bool read_all(int fd, struct text *out)
{
    char block[1 << 13];
    for (;;) {
        ssize_t got = signals_seen() ? -1 : read(fd, block, sizeof block);
        if (got == 0)
            return !signals_seen();
        if (got > 0)
            text_append(out, block, (size_t)got);
        else if (errno != EINTR || signals_seen())
            return false;
        if (out->failed) {
            errno = ENOMEM;
            return false;
        }
        if (out->length > MOST_BYTES) {
            errno = EFBIG;
            return false;
        }
        if (got > 0 && memchr(block, '\0', (size_t)got))
            return true; /* no text: the caller says so, and need not wait for the end of /dev/zero */
    }
}

static int read_prompt_from(struct prompt *prompt, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_all(fd, &prompt->text);
    int failure = errno;
    if (fd >= 0 && !standard)
        close(fd);
    if (!ok && signals_seen())
        return program_interrupted();
    if (!ok) {
        say_error("%s: %s", standard ? "standard input" : path, strerror(failure));
        return failure == ENOMEM ? LEAVE_MEMORY : LEAVE_DOCUMENT;
    }
    if (memchr(text_string(&prompt->text), '\0', prompt->text.length)) {
        say_error("%s holds zero bytes and is no text; `longleaf sum` and `longleaf text` read other kinds "
                  "of documents",
                  standard ? "standard input" : path);
        return LEAVE_DOCUMENT;
    }
    /* The last newline belongs to the file, not to the question. */
    if (prompt->text.length && prompt->text.bytes[prompt->text.length - 1] == '\n')
        prompt->text.bytes[--prompt->text.length] = '\0';
    return LEAVE_OK;
}

static int parse_ids(struct prompt *prompt, const char *ids)
{
    size_t room = strlen(ids) / 2 + 1;
    prompt->tokens = calloc(room, sizeof *prompt->tokens);
    if (!prompt->tokens)
        return LEAVE_MEMORY;
    for (const char *at = ids; *at;) {
        if (isspace((unsigned char)*at) || *at == ',') {
            at++;
            continue;
        }
        char *end;
        errno = 0;
        long id = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
        if (id < 0 || errno || id > INT32_MAX || (*end && *end != ',' && !isspace((unsigned char)*end))) {
            say_error("--tokens takes whole numbers separated by spaces or commas, not “%.20s”", at);
            return LEAVE_USAGE;
        }
        prompt->tokens[prompt->count++] = (ll_token)id;
        at = end;
    }
    return LEAVE_OK;
}

int prompt_read(struct prompt *prompt, struct program *program)
{
    const struct settings *settings = &program->settings;
    const char *ids = settings_text(settings, OPTION_TOKENS), *text = settings_text(settings, OPTION_PROMPT);
    const char *path = settings_text(settings, OPTION_FILE);
    const char *operand = program->operand_count ? program->operands[0] : NULL;
    int code = LEAVE_OK;
    if ((ids != NULL) + (text != NULL) + (path != NULL) + (operand != NULL) > 1) {
        say_error("run takes one prompt: -p TEXT, -f FILE, --tokens IDS or standard input");
        return LEAVE_USAGE;
    }
    if (operand && strcmp(operand, "-") != 0) {
        say_error(
            "run takes its prompt from -p TEXT, -f FILE or standard input; did you mean `run -p \"%s\"`?",
            operand);
        return LEAVE_USAGE;
    }
    if (ids)
        code = parse_ids(prompt, ids);
    else if (text)
        text_puts(&prompt->text, text);
    else if (!path && !operand && isatty(STDIN_FILENO)) {
        say_error(
            "run needs a prompt: -p TEXT, -f FILE or standard input (`longleaf chat` talks line by line)");
        return LEAVE_USAGE;
    } else
        code = read_prompt_from(prompt, path ? path : "-");
    if (!code && !prompt->text.length && !prompt->count) {
        say_error("the prompt is empty");
        return LEAVE_USAGE;
    }
    return code;
}

static int failed_tokens(struct program *program, ll_error *error, ll_token *tokens)
{
    free(tokens);
    if (error->status == LL_UNSUPPORTED) {
        say_error("%s; `longleaf run --raw` continues a text without a template", error->text);
        return LEAVE_USAGE;
    }
    return program_fail(program, CONCERN_WORK, error);
}

int prompt_chat_tokens(struct program *program, const struct work *work, const ll_message *messages,
                       size_t count, ll_token **ret_tokens, size_t *ret_count)
{
    ll_error error = {0};
    size_t needed = 0;
    ll_token *tokens = NULL;
    if (ll_chat_tokens(work->model, messages, count, true, NULL, 0, &needed, &error) != LL_OK)
        return failed_tokens(program, &error, NULL);
    tokens = calloc(needed ? needed : 1, sizeof *tokens);
    if (!tokens) {
        say_error("no memory for %zu tokens", needed);
        return LEAVE_MEMORY;
    }
    if (ll_chat_tokens(work->model, messages, count, true, tokens, needed, ret_count, &error) != LL_OK)
        return failed_tokens(program, &error, tokens);
    *ret_tokens = tokens;
    return LEAVE_OK;
}

int prompt_text_tokens(struct program *program, const struct work *work, const char *text, size_t length,
                       bool special, bool start, ll_token **ret_tokens, size_t *ret_count)
{
    ll_error error = {0};
    size_t needed = 0;
    if (ll_tokenize(work->model, text, length, special, start, NULL, 0, &needed, &error) != LL_OK)
        return failed_tokens(program, &error, NULL);
    ll_token *tokens = calloc(needed ? needed : 1, sizeof *tokens);
    if (!tokens) {
        say_error("no memory for %zu tokens", needed);
        return LEAVE_MEMORY;
    }
    if (ll_tokenize(work->model, text, length, special, start, tokens, needed, ret_count, &error) != LL_OK)
        return failed_tokens(program, &error, tokens);
    *ret_tokens = tokens;
    return LEAVE_OK;
}

static int check_ids(const struct prompt *prompt, const struct work *work)
{
    for (size_t i = 0; i < prompt->count; i++)
        if ((size_t)prompt->tokens[i] >= work->info.vocabulary) {
            say_error("token %d is outside the model's vocabulary of %zu", prompt->tokens[i],
                      work->info.vocabulary);
            return LEAVE_USAGE;
        }
    return LEAVE_OK;
}

int prompt_encode(struct prompt *prompt, struct program *program, const struct work *work)
{
    const struct settings *settings = &program->settings;
    if (settings_given(settings, OPTION_TOKENS))
        return check_ids(prompt, work);
    if (settings_flag(settings, OPTION_RAW))
        return prompt_text_tokens(program, work, text_string(&prompt->text), prompt->text.length, false, true,
                                  &prompt->tokens, &prompt->count);
    const char *system = settings_text(settings, OPTION_SYSTEM);
    ll_message messages[2] = {{"system", system, system ? strlen(system) : 0},
                              {"user", text_string(&prompt->text), prompt->text.length}};
    return prompt_chat_tokens(program, work, system ? messages : messages + 1, system ? 2 : 1,
                              &prompt->tokens, &prompt->count);
}
