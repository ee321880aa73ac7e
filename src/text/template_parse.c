/* Parses the statements of templates.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "text/template_tree.h"

static struct node *parse_body(struct parser *parser, const char *const *ends, struct node **ret_first);

static const char *const no_ends[] = {NULL};

/* ---- tags ---- */

static bool close_tag(struct parser *parser)
{
    if (parser->token->type != LEX_TAG_CLOSE)
        return parse_fault(parser, "%}");
    parser->token++;
    return true;
}

/* A body up to {% end %}, which is taken. */
static bool parse_block(struct parser *parser, const char *end, struct node **ret)
{
    const char *const ends[] = {end, NULL};
    parse_body(parser, ends, ret);
    if (parser->fault->status != LL_OK)
        return false;
    return parse_take_name(parser, end) && close_tag(parser);
}

/* One name, or several with commas, or namespace.name. */
static struct node *parse_target(struct parser *parser, bool with_space)
{
    struct node *first = NULL, **end = &first;
    bool bracket = parse_take(parser, '(');
    int line = parser->token->line, count = 0;
    bool comma = false;
    do {
        if (parser->token->type != LEX_NAME || (count && parse_is_name(parser, "in")))
            break;
        struct node *name = parse_node(parser, NODE_NAME, line);
        if (!name)
            return NULL;
        name->text = parser->token++->text;
        if (with_space && parse_take(parser, '.')) {
            struct node *attribute = parse_node(parser, NODE_ATTRIBUTE, line);
            if (!attribute || parser->token->type != LEX_NAME) {
                parse_fault(parser, "a name after \".\"");
                return NULL;
            }
            attribute->a = name;
            attribute->text = parser->token++->text;
            name = attribute;
        }
        *end = name;
        end = &name->next;
        count++;
        comma = parse_is(parser, ',');
    } while (parse_take(parser, ','));
    if (count == 0 || (bracket && !parse_expect(parser, ')', "\")\""))) {
        parse_fault(parser, "a name to set");
        return NULL;
    }
    if (count == 1 && !comma)
        return first;
    struct node *tuple = parse_node(parser, NODE_TUPLE, line);
    if (tuple)
        tuple->first = first;
    return tuple;
}

/* ---- statements ---- */

static bool parse_if(struct parser *parser, struct node *node)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    node->kind = NODE_IF;
    if (!(node->a = parse_tuple(parser, false)) || !close_tag(parser))
        return false;
    parse_body(parser, ends, &node->first);
    if (parser->fault->status != LL_OK)
        return false;
    int line = parser->token->line;
    if (parse_take_name(parser, "elif")) {
        node->otherwise = parse_node(parser, NODE_IF, line);
        if (++parser->depth > PARSE_DEPTH)
            return template_fail(parser->fault, LL_FORMAT, line, "too many {%% elif %%} in a row");
        bool done = node->otherwise && parse_if(parser, node->otherwise);
        parser->depth--;
        return done;
    }
    if (parse_take_name(parser, "else"))
        return close_tag(parser) && parse_block(parser, "endif", &node->otherwise);
    parser->token++;
    return close_tag(parser);
}

static bool parse_for(struct parser *parser, struct node *node)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    node->kind = NODE_FOR;
    if (!(node->a = parse_target(parser, false)))
        return false;
    if (!parse_take_name(parser, "in"))
        return parse_fault(parser, "\"in\"");
    if (!(node->b = parse_tuple(parser, false)))
        return false;
    if (parse_take_name(parser, "if") && !(node->c = parse_expression(parser)))
        return false;
    node->op = parse_take_name(parser, "recursive");
    if (!close_tag(parser))
        return false;
    parse_body(parser, ends, &node->first);
    if (parser->fault->status != LL_OK)
        return false;
    if (parse_take_name(parser, "else"))
        return close_tag(parser) && parse_block(parser, "endfor", &node->otherwise);
    parser->token++;
    return close_tag(parser);
}

/* The filters that a block's text goes through: "| a | b", or none. */
static bool parse_block_filters(struct parser *parser, bool bar, struct node **ret)
{
    *ret = parse_node(parser, NODE_CAPTURED, parser->token->line);
    if (*ret && (!bar || parse_take(parser, '|')))
        *ret = parse_filters(parser, *ret);
    return *ret != NULL;
}

static bool parse_set(struct parser *parser, struct node *node)
{
    node->kind = NODE_SET;
    if (!(node->a = parse_target(parser, true)))
        return false;
    if (parse_take(parser, '='))
        return (node->b = parse_tuple(parser, true)) != NULL && close_tag(parser);
    node->kind = NODE_SET_BLOCK;
    if (parse_is(parser, '|') ? !parse_block_filters(parser, true, &node->b)
                              : !(node->b = parse_node(parser, NODE_CAPTURED, node->line)))
        return false;
    return close_tag(parser) && parse_block(parser, "endset", &node->first);
}

/* "(a, b=1)" of a macro. */
static bool parse_parameters(struct parser *parser, struct node **ret)
{
    *ret = NULL;
    if (!parse_expect(parser, '(', "\"(\""))
        return false;
    while (!parse_is(parser, ')')) {
        struct node *parameter = parse_node(parser, NODE_KEYWORD, parser->token->line);
        if (!parameter || parser->token->type != LEX_NAME)
            return parse_fault(parser, "the name of a parameter");
        parameter->text = parser->token++->text;
        if (parse_take(parser, '=') && !(parameter->a = parse_expression(parser)))
            return false;
        *ret = parameter;
        ret = &parameter->next;
        if (!parse_take(parser, ','))
            break;
    }
    return parse_expect(parser, ')', "\")\"");
}

static bool parse_macro(struct parser *parser, struct node *node)
{
    node->kind = NODE_MACRO;
    if (parser->token->type != LEX_NAME)
        return parse_fault(parser, "the name of a macro");
    node->text = parser->token++->text;
    return parse_parameters(parser, &node->parameters) && close_tag(parser) &&
           parse_block(parser, "endmacro", &node->first);
}

static bool parse_call_block(struct parser *parser, struct node *node)
{
    node->kind = NODE_CALL_BLOCK;
    node->text = "caller";
    if (parse_is(parser, '(') && !parse_parameters(parser, &node->parameters))
        return false;
    if (!(node->a = parse_expression(parser)))
        return false;
    if (node->a->kind != NODE_CALL)
        return template_fail(parser->fault, LL_FORMAT, node->line, "{%% call %%} needs the call of a macro");
    return close_tag(parser) && parse_block(parser, "endcall", &node->first);
}

static bool parse_filter_block(struct parser *parser, struct node *node)
{
    node->kind = NODE_FILTER_BLOCK;
    return parse_block_filters(parser, false, &node->b) && close_tag(parser) &&
           parse_block(parser, "endfilter", &node->first);
}

static bool parse_with(struct parser *parser, struct node *node)
{
    struct node **end = &node->parameters;
    node->kind = NODE_WITH;
    while (parser->token->type != LEX_TAG_CLOSE) {
        struct node *set = *end = parse_node(parser, NODE_SET, parser->token->line);
        if (!set || !(set->a = parse_target(parser, false)) || !parse_expect(parser, '=', "\"=\"") ||
            !(set->b = parse_expression(parser)))
            return false;
        end = &set->next;
        if (!parse_take(parser, ','))
            break;
    }
    return close_tag(parser) && parse_block(parser, "endwith", &node->first);
}

static bool parse_generation(struct parser *parser, struct node *node)
{
    node->kind = NODE_GROUP;
    return close_tag(parser) && parse_block(parser, "endgeneration", &node->first);
}

static bool parse_break(struct parser *parser, struct node *node)
{
    node->kind = NODE_BREAK;
    return close_tag(parser);
}

static bool parse_continue(struct parser *parser, struct node *node)
{
    node->kind = NODE_CONTINUE;
    return close_tag(parser);
}

static const struct {
    const char *name;
    bool (*parse)(struct parser *parser, struct node *node);
} statements[] = {
    {"if", parse_if},           {"for", parse_for},
    {"set", parse_set},         {"macro", parse_macro},
    {"call", parse_call_block}, {"filter", parse_filter_block},
    {"with", parse_with},       {"generation", parse_generation},
    {"break", parse_break},     {"continue", parse_continue},
};

static struct node *parse_statement(struct parser *parser)
{
    static const char *const closing[] = {"elif",     "else",    "endif",     "endfor",  "endset",
                                          "endmacro", "endcall", "endfilter", "endwith", "endgeneration"};
    const struct lex_token *word = parser->token;
    if (word->type != LEX_NAME) {
        parse_fault(parser, "the name of a tag");
        return NULL;
    }
    struct node *node = parse_node(parser, NODE_GROUP, word->line);
    for (size_t i = 0; node && i < sizeof statements / sizeof *statements; i++)
        if (strcmp(word->text, statements[i].name) == 0) {
            parser->token++;
            return statements[i].parse(parser, node) ? node : NULL;
        }
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
        if (strcmp(word->text, closing[i]) == 0) {
            template_fail(parser->fault, LL_FORMAT, word->line, "{%% %s %%} has nothing to close",
                          closing[i]);
            return NULL;
        }
    template_fail(parser->fault, LL_UNSUPPORTED, word->line, "the tag {%% %.40s %%} is not supported",
                  word->text);
    return NULL;
}

static struct node *parse_print(struct parser *parser)
{
    struct node *node = parse_node(parser, NODE_PRINT, parser->token++->line);
    if (!node || !(node->a = parse_tuple(parser, true)))
        return NULL;
    if (parser->token->type != LEX_PRINT_CLOSE) {
        parse_fault(parser, "}}");
        return NULL;
    }
    parser->token++;
    return node;
}

static const char *last_of(const char *const *ends)
{
    while (ends[1])
        ends++;
    return *ends;
}

static bool at_end(const struct parser *parser, const char *const *ends)
{
    for (; *ends; ends++)
        if (parse_is_name(parser, *ends))
            return true;
    return false;
}

static struct node *parse_data(struct parser *parser)
{
    const struct lex_token *token = parser->token++;
    struct node *node = parse_node(parser, NODE_DATA, token->line);
    if (node)
        node->constant = value_text(parser->arena, token->text, token->length, false);
    return node;
}

/* Up to one of the ends (the tag's opening taken, its name not) or the end of the template. */
static struct node *parse_body(struct parser *parser, const char *const *ends, struct node **ret_first)
{
    struct node **end = ret_first;
    *ret_first = NULL;
    if (++parser->depth > PARSE_DEPTH)
        template_fail(parser->fault, LL_FORMAT, parser->token->line, "the tags are nested too deeply");
    while (parser->fault->status == LL_OK) {
        struct node *node;
        if (parser->token->type == LEX_END) {
            if (*ends)
                template_fail(parser->fault, LL_FORMAT, parser->token->line,
                              "the template ends where {%% %s %%} is expected", last_of(ends));
            break;
        }
        if (parser->token->type == LEX_TAG_OPEN) {
            parser->token++;
            if (at_end(parser, ends))
                break;
            node = parse_statement(parser);
        } else
            node = parser->token->type == LEX_DATA ? parse_data(parser) : parse_print(parser);
        if (!node)
            break;
        *end = node;
        end = &node->next;
    }
    parser->depth--;
    return *ret_first;
}

struct node *template_parse(struct parser *parser, struct node **ret_first)
{
    return parse_body(parser, no_ends, ret_first);
}
