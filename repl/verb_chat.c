/* chat: a conversation line by line, with documents, commands and interrupted answers kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "repl/chat.h"
#include "repl/say.h"
#include "repl/verbs.h"

int verb_chat(struct program *program)
{
    struct work work = {0};
    struct talk talk;
    int code = work_open(&work, program, NULL, WORK_SESSION);
    talk_init(&talk, program, &work);
    for (int i = 0; !code && i < program->operand_count; i++)
        code = talk_attach(&talk, program->operands[i]);
    if (!code)
        code = chat_run(&talk);
    talk_fini(&talk);
    work_close(&work, code);
    return code;
}
