/* The parsed template: one kind of node for expressions and statements.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_TEMPLATE_TREE_H
#define TEXT_TEMPLATE_TREE_H

#include "text/template_lex.h"

enum node_kind {
    /* expressions: a, b, c are operands; first is a list linked by next */
    NODE_CONSTANT, /* constant */
    NODE_NAME,     /* text */
    NODE_LIST,     /* first */
    NODE_TUPLE,    /* first */
    NODE_DICT,     /* first: NODE_PAIR a: b */
    NODE_PAIR,
    NODE_ATTRIBUTE, /* a.text */
    NODE_ITEM,      /* a[b] */
    NODE_SLICE,     /* a[b:c:d] */
    NODE_CALL,      /* a(first …) */
    NODE_KEYWORD,   /* text=a, among the arguments */
    NODE_FILTER,    /* a|text(first …) */
    NODE_TEST,      /* a is text(first …) */
    NODE_NOT,
    NODE_NEGATE,
    NODE_PLUS,
    NODE_AND,
    NODE_OR,
    NODE_CHOICE,  /* b if a else c */
    NODE_COMPARE, /* a, then first: NODE_OPERAND op a */
    NODE_OPERAND,
    NODE_BINARY,   /* a op b */
    NODE_CAPTURED, /* the text of the block that a filter chain stands over */
    /* statements: first is the body, otherwise the else part */
    NODE_DATA,         /* constant */
    NODE_PRINT,        /* a */
    NODE_IF,           /* a */
    NODE_FOR,          /* a target, b what, c condition */
    NODE_SET,          /* a target, b value */
    NODE_SET_BLOCK,    /* a target, b filters over NODE_CAPTURED */
    NODE_MACRO,        /* text, parameters: NODE_KEYWORD, a the default or NULL */
    NODE_CALL_BLOCK,   /* a the call, parameters of caller() */
    NODE_FILTER_BLOCK, /* b filters over NODE_CAPTURED */
    NODE_WITH,         /* parameters: NODE_SET */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_GROUP, /* a body that changes nothing: {% generation %} */
};

enum {
    OP_IN = LEX_PAIR('i', 'n'),
    OP_NOT_IN = LEX_PAIR('n', 'i'),
};

struct node {
    enum node_kind kind;
    int line, op;
    const char *text;
    struct value constant;
    struct node *a, *b, *c, *d;
    struct node *first, *otherwise, *parameters, *next;
};

struct parser {
    struct arena *arena;
    struct template_fault *fault;
    const struct lex_token *token; /* the next one; LEX_END stays */
    int depth;
};

enum { PARSE_DEPTH = 160 };

/* All give NULL after a fault. */
struct node *template_parse(struct parser *parser, struct node **ret_first); /* NULL with an empty template */
struct node *parse_expression(struct parser *parser);                        /* with "a if b else c" */
struct node *parse_plain_expression(struct parser *parser);                  /* without */
struct node *parse_tuple(struct parser *parser, bool choices);               /* "a, b" too */
struct node *parse_postfix(struct parser *parser, struct node *node);
struct node *parse_filters(struct parser *parser, struct node *node); /* "name(…)|name …" after a first bar */
/* "(a, b=1)": arguments, parameter lists. *ret NULL when empty; false after a fault. */
bool parse_arguments(struct parser *parser, struct node **ret);

/* ---- shared by the two parser files ---- */

struct node *parse_node(struct parser *parser, enum node_kind kind, int line); /* NULL: no room, said */
bool parse_is(const struct parser *parser, int op);
bool parse_is_name(const struct parser *parser, const char *name);
bool parse_take(struct parser *parser, int op);
bool parse_take_name(struct parser *parser, const char *name);
bool parse_expect(struct parser *parser, int op, const char *what);
bool parse_fault(struct parser *parser, const char *what); /* false: "what is expected, not …" */

#endif
