/* Parses the expressions of templates, by falling precedence.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "text/template_tree.h"

/* ---- helpers ---- */

struct node *parse_node(struct parser *parser, enum node_kind kind, int line)
{
    struct node *node = arena_new(parser->arena, 1, sizeof *node);
    if (!node) {
        template_fail(parser->fault, parser->arena->over ? LL_FORMAT : LL_NOMEM, line,
                      "the template is too long to be read");
        return NULL;
    }
    node->kind = kind;
    node->line = line;
    return node;
}

bool parse_is(const struct parser *parser, int op)
{
    return parser->token->type == LEX_OPERATOR && parser->token->op == op;
}

bool parse_is_name(const struct parser *parser, const char *name)
{
    return parser->token->type == LEX_NAME && strcmp(parser->token->text, name) == 0;
}

bool parse_take(struct parser *parser, int op)
{
    bool is = parse_is(parser, op);
    parser->token += is;
    return is;
}

bool parse_take_name(struct parser *parser, const char *name)
{
    bool is = parse_is_name(parser, name);
    parser->token += is;
    return is;
}

static void describe(const struct lex_token *token, char *out, size_t cap)
{
    static const char *const names[] = {"the end", "text", "{{", "}}", "{%", "%}"};
    if (token->type <= LEX_TAG_CLOSE)
        snprintf(out, cap, "%s", names[token->type]);
    else if (token->type == LEX_NAME)
        snprintf(out, cap, "\"%.40s\"", token->text);
    else if (token->type == LEX_OPERATOR && token->op > 255)
        snprintf(out, cap, "\"%c%c\"", token->op >> 8, token->op & 255);
    else if (token->type == LEX_OPERATOR)
        snprintf(out, cap, "\"%c\"", token->op);
    else
        snprintf(out, cap, "%s", token->type == LEX_TEXT ? "a string" : "a number");
}

bool parse_fault(struct parser *parser, const char *what)
{
    char found[64];
    describe(parser->token, found, sizeof found);
    return template_fail(parser->fault, LL_FORMAT, parser->token->line, "%s is expected, not %s", what,
                         found);
}

bool parse_expect(struct parser *parser, int op, const char *what)
{
    return parse_take(parser, op) || parse_fault(parser, what);
}

static bool enter(struct parser *parser)
{
    if (++parser->depth <= PARSE_DEPTH)
        return true;
    return template_fail(parser->fault, LL_FORMAT, parser->token->line,
                         "the expression is nested too deeply");
}

/* ---- primary ---- */

static struct node *constant(struct parser *parser, struct value value)
{
    struct node *node = parse_node(parser, NODE_CONSTANT, parser->token->line);
    if (node)
        node->constant = value;
    return node;
}

static struct node *parse_name(struct parser *parser)
{
    static const struct {
        const char *name;
        enum value_kind kind;
        bool truth;
    } known[] = {{"true", VALUE_BOOL, true},   {"True", VALUE_BOOL, true},  {"false", VALUE_BOOL, false},
                 {"False", VALUE_BOOL, false}, {"none", VALUE_NONE, false}, {"None", VALUE_NONE, false}};
    const struct lex_token *token = parser->token++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(token->text, known[i].name) == 0)
            return constant(parser, (struct value){.kind = known[i].kind, .truth = known[i].truth});
    struct node *node = parse_node(parser, NODE_NAME, token->line);
    if (node)
        node->text = token->text;
    return node;
}

/* Literals side by side are one. */
static struct node *parse_text(struct parser *parser)
{
    const struct lex_token *token = parser->token++;
    if (parser->token->type != LEX_TEXT)
        return constant(parser, value_text(parser->arena, token->text, token->length, false));
    struct text_builder builder = {.arena = parser->arena};
    builder_bytes(&builder, token->text, token->length, false);
    for (; parser->token->type == LEX_TEXT; parser->token++)
        builder_bytes(&builder, parser->token->text, parser->token->length, false);
    return constant(parser, builder_value(&builder));
}

static struct node *parse_list(struct parser *parser)
{
    struct node *list = parse_node(parser, NODE_LIST, parser->token++->line);
    struct node **end = list ? &list->first : NULL;
    while (list && !parse_is(parser, ']')) {
        if (!(*end = parse_expression(parser)))
            return NULL;
        end = &(*end)->next;
        if (!parse_take(parser, ','))
            break;
    }
    return list && parse_expect(parser, ']', "\"]\"") ? list : NULL;
}

static struct node *parse_dict(struct parser *parser)
{
    struct node *dict = parse_node(parser, NODE_DICT, parser->token++->line);
    struct node **end = dict ? &dict->first : NULL;
    while (dict && !parse_is(parser, '}')) {
        struct node *pair = *end = parse_node(parser, NODE_PAIR, parser->token->line);
        if (!pair || !(pair->a = parse_expression(parser)) || !parse_expect(parser, ':', "\":\"") ||
            !(pair->b = parse_expression(parser)))
            return NULL;
        end = &pair->next;
        if (!parse_take(parser, ','))
            break;
    }
    return dict && parse_expect(parser, '}', "\"}\"") ? dict : NULL;
}

static struct node *parse_parenthesis(struct parser *parser)
{
    int line = parser->token++->line;
    if (parse_take(parser, ')'))
        return parse_node(parser, NODE_TUPLE, line);
    struct node *node = parse_tuple(parser, true);
    return node && parse_expect(parser, ')', "\")\"") ? node : NULL;
}

static struct node *parse_primary(struct parser *parser)
{
    switch (parser->token->type) {
    case LEX_NAME:
        return parse_name(parser);
    case LEX_TEXT:
        return parse_text(parser);
    case LEX_INTEGER:
        return constant(parser, value_int(parser->token++->integer));
    case LEX_FLOAT:
        return constant(parser, value_float(parser->token++->real));
    default:
        break;
    }
    if (parse_is(parser, '('))
        return parse_parenthesis(parser);
    if (parse_is(parser, '['))
        return parse_list(parser);
    if (parse_is(parser, '{'))
        return parse_dict(parser);
    parse_fault(parser, "an expression");
    return NULL;
}

/* ---- what stands behind a primary ---- */

bool parse_arguments(struct parser *parser, struct node **ret)
{
    *ret = NULL;
    if (!parse_expect(parser, '(', "\"(\""))
        return false;
    while (!parse_is(parser, ')')) {
        const struct lex_token *token = parser->token;
        bool keyword = token->type == LEX_NAME && token[1].type == LEX_OPERATOR && token[1].op == '=';
        if (parse_is(parser, '*') || parse_is(parser, LEX_PAIR('*', '*')))
            return template_fail(parser->fault, LL_UNSUPPORTED, token->line,
                                 "arguments unpacked by \"*\" are not supported");
        if (keyword)
            parser->token += 2;
        struct node *argument = parse_expression(parser);
        if (!argument)
            return false;
        if (keyword) {
            struct node *named = parse_node(parser, NODE_KEYWORD, token->line);
            if (!named)
                return false;
            named->text = token->text;
            named->a = argument;
            argument = named;
        }
        *ret = argument;
        ret = &argument->next;
        if (!parse_take(parser, ','))
            break;
    }
    return parse_expect(parser, ')', "\")\"");
}

/* "[a]" or "[a:b:c]", the bracket taken. */
static struct node *parse_subscript(struct parser *parser, struct node *object, int line)
{
    struct node *node = parse_node(parser, NODE_ITEM, line);
    if (!node)
        return NULL;
    node->a = object;
    if (!parse_is(parser, ':') && !(node->b = parse_expression(parser)))
        return NULL;
    if (parse_take(parser, ':')) {
        node->kind = NODE_SLICE;
        if (!parse_is(parser, ']') && !parse_is(parser, ':') && !(node->c = parse_expression(parser)))
            return NULL;
        if (parse_take(parser, ':') && !parse_is(parser, ']') && !(node->d = parse_expression(parser)))
            return NULL;
    }
    return parse_expect(parser, ']', "\"]\"") ? node : NULL;
}

static struct node *parse_attribute(struct parser *parser, struct node *object, int line)
{
    const struct lex_token *token = parser->token++;
    struct node *node = parse_node(parser, token->type == LEX_NAME ? NODE_ATTRIBUTE : NODE_ITEM, line);
    if (!node)
        return NULL;
    node->a = object;
    node->text = token->text;
    if (token->type == LEX_NAME)
        return node;
    if (token->type != LEX_INTEGER) {
        parser->token--;
        parse_fault(parser, "a name after \".\"");
        return NULL;
    }
    node->b = constant(parser, value_int(token->integer));
    return node->b ? node : NULL;
}

static struct node *parse_call(struct parser *parser, struct node *callee)
{
    struct node *node = parse_node(parser, NODE_CALL, parser->token->line);
    if (!node)
        return NULL;
    node->a = callee;
    return parse_arguments(parser, &node->first) ? node : NULL;
}

struct node *parse_postfix(struct parser *parser, struct node *node)
{
    while (node) {
        int line = parser->token->line;
        if (parse_take(parser, '.'))
            node = parse_attribute(parser, node, line);
        else if (parse_take(parser, '['))
            node = parse_subscript(parser, node, line);
        else if (parse_is(parser, '('))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

/* The name of a filter or test, dots included. */
static const char *parse_dotted(struct parser *parser, const char *what)
{
    if (parser->token->type != LEX_NAME &&
        !(parser->token->type == LEX_OPERATOR && parser->token->op > 255)) {
        parse_fault(parser, what);
        return NULL;
    }
    return parser->token++->text;
}

static struct node *parse_one_filter(struct parser *parser, struct node *subject)
{
    struct node *node = parse_node(parser, NODE_FILTER, parser->token->line);
    if (!node || !(node->text = parse_dotted(parser, "the name of a filter")))
        return NULL;
    node->a = subject;
    if (parse_is(parser, '(') && !parse_arguments(parser, &node->first))
        return NULL;
    return node;
}

struct node *parse_filters(struct parser *parser, struct node *node)
{
    do
        node = parse_one_filter(parser, node);
    while (node && parse_take(parser, '|'));
    return node;
}

static bool starts_test_argument(const struct parser *parser)
{
    const struct lex_token *token = parser->token;
    if (token->type == LEX_NAME)
        return strcmp(token->text, "else") != 0 && strcmp(token->text, "or") != 0 &&
               strcmp(token->text, "and") != 0 && strcmp(token->text, "is") != 0;
    return token->type == LEX_TEXT || token->type == LEX_INTEGER || token->type == LEX_FLOAT ||
           parse_is(parser, '[') || parse_is(parser, '{');
}

static struct node *parse_test(struct parser *parser, struct node *subject)
{
    int line = parser->token->line;
    bool negated = parse_take_name(parser, "not");
    struct node *node = parse_node(parser, NODE_TEST, line), *outer;
    if (!node || parser->token->type != LEX_NAME) {
        parse_fault(parser, "the name of a test");
        return NULL;
    }
    node->text = parser->token++->text;
    node->a = subject;
    if (parse_is(parser, '(')) {
        if (!parse_arguments(parser, &node->first))
            return NULL;
    } else if (starts_test_argument(parser)) {
        node->first = parse_postfix(parser, parse_primary(parser));
        if (!node->first)
            return NULL;
    }
    if (!negated)
        return node;
    if ((outer = parse_node(parser, NODE_NOT, line)))
        outer->a = node;
    return outer;
}

static struct node *parse_tail(struct parser *parser, struct node *node)
{
    while (node) {
        if (parse_take(parser, '|'))
            node = parse_one_filter(parser, node);
        else if (parse_take_name(parser, "is"))
            node = parse_test(parser, node);
        else if (parse_is(parser, '('))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

/* ---- operators ---- */

static struct node *parse_unary(struct parser *parser, bool with_filters)
{
    struct node *node;
    int line = parser->token->line;
    bool negate = parse_is(parser, '-'), plus = parse_is(parser, '+');
    if (!enter(parser))
        return NULL;
    if (negate || plus) {
        parser->token++;
        node = parse_node(parser, negate ? NODE_NEGATE : NODE_PLUS, line);
        if (node && !(node->a = parse_unary(parser, false)))
            node = NULL;
    } else
        node = parse_primary(parser);
    node = parse_postfix(parser, node);
    if (with_filters)
        node = parse_tail(parser, node);
    parser->depth--;
    return node;
}

static struct node *binary(struct parser *parser, int op, int line, struct node *a, struct node *b)
{
    struct node *node = a && b ? parse_node(parser, NODE_BINARY, line) : NULL;
    if (node) {
        node->op = op;
        node->a = a;
        node->b = b;
    }
    return node;
}

/* From the loosest to the tightest of the arithmetic operators. */
static struct node *parse_arithmetic(struct parser *parser, int level)
{
    static const int ops[4][4] = {
        {'+', '-'}, {'~'}, {'*', '/', LEX_PAIR('/', '/'), '%'}, {LEX_PAIR('*', '*')}};
    if (level == 4)
        return parse_unary(parser, true);
    struct node *node = parse_arithmetic(parser, level + 1);
    while (node) {
        int i = 0, line = parser->token->line;
        while (i < 4 && !(ops[level][i] && parse_is(parser, ops[level][i])))
            i++;
        if (i == 4)
            break;
        parser->token++;
        node = binary(parser, ops[level][i], line, node, parse_arithmetic(parser, level + 1));
    }
    return node;
}

/* The comparison that comes next, taken; 0: none. */
static int take_comparison(struct parser *parser)
{
    static const int ops[] = {
        LEX_PAIR('=', '='), LEX_PAIR('!', '='), LEX_PAIR('<', '='), LEX_PAIR('>', '='), '<', '>'};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (parse_take(parser, ops[i]))
            return ops[i];
    if (parse_take_name(parser, "in"))
        return OP_IN;
    const struct lex_token *next = parser->token + (parser->token->type != LEX_END);
    if (parse_is_name(parser, "not") && next->type == LEX_NAME && strcmp(next->text, "in") == 0) {
        parser->token += 2;
        return OP_NOT_IN;
    }
    return 0;
}

static struct node *parse_compare(struct parser *parser)
{
    struct node *first = parse_arithmetic(parser, 0), *compare = NULL, **end = NULL;
    int op, line = parser->token->line;
    while (first && (op = take_comparison(parser)) != 0) {
        if (!compare) {
            compare = parse_node(parser, NODE_COMPARE, line);
            if (!compare)
                return NULL;
            compare->a = first;
            end = &compare->first;
        }
        struct node *operand = *end = parse_node(parser, NODE_OPERAND, line);
        if (!operand || !(operand->a = parse_arithmetic(parser, 0)))
            return NULL;
        operand->op = op;
        end = &operand->next;
    }
    return compare ? compare : first;
}

static struct node *parse_not(struct parser *parser)
{
    int line = parser->token->line;
    if (!parse_take_name(parser, "not"))
        return parse_compare(parser);
    struct node *node = enter(parser) ? parse_node(parser, NODE_NOT, line) : NULL;
    if (node && !(node->a = parse_not(parser)))
        return NULL;
    parser->depth--;
    return node;
}

static struct node *parse_logic(struct parser *parser, bool either)
{
    struct node *node = either ? parse_logic(parser, false) : parse_not(parser);
    int line = parser->token->line;
    while (node && parse_take_name(parser, either ? "or" : "and")) {
        struct node *right = either ? parse_logic(parser, false) : parse_not(parser);
        node = binary(parser, 0, line, node, right);
        if (node)
            node->kind = either ? NODE_OR : NODE_AND;
    }
    return node;
}

struct node *parse_plain_expression(struct parser *parser)
{
    if (!enter(parser))
        return NULL;
    struct node *node = parse_logic(parser, true);
    parser->depth--;
    return node;
}

struct node *parse_expression(struct parser *parser)
{
    if (!enter(parser))
        return NULL;
    struct node *node = parse_logic(parser, true);
    int line = parser->token->line;
    while (node && parse_take_name(parser, "if")) {
        struct node *choice = parse_node(parser, NODE_CHOICE, line);
        if (!choice || !(choice->a = parse_logic(parser, true)))
            return NULL;
        choice->b = node;
        if (parse_take_name(parser, "else") && !(choice->c = parse_expression(parser)))
            return NULL;
        node = choice;
    }
    parser->depth--;
    return node;
}

static bool ends_tuple(const struct parser *parser)
{
    enum token_type type = parser->token->type;
    return type == LEX_PRINT_CLOSE || type == LEX_TAG_CLOSE || type == LEX_END || parse_is(parser, ')') ||
           parse_is_name(parser, "in") || parse_is(parser, '=') || parse_is_name(parser, "recursive");
}

struct node *parse_tuple(struct parser *parser, bool choices)
{
    struct node *first = choices ? parse_expression(parser) : parse_plain_expression(parser);
    if (!first || !parse_is(parser, ','))
        return first;
    struct node *tuple = parse_node(parser, NODE_TUPLE, first->line);
    struct node **end = tuple ? &tuple->first : NULL;
    for (struct node *item = first; tuple && item;) {
        *end = item;
        end = &item->next;
        if (!parse_take(parser, ',') || ends_tuple(parser))
            return tuple;
        item = choices ? parse_expression(parser) : parse_plain_expression(parser);
    }
    return NULL;
}
