/*
 * parse_fixture - a command as a parse hook gets it, without a bus or a database. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_ACCESS_PARSE_FIXTURE_H
#define TESTS_UNIT_SERVICES_ACCESS_PARSE_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "services/access/access.h"

struct parsed {
    bool is_accepted;
    struct arena arena;
    struct access self;
    struct command command;
    struct operator_query *query; /* NULL when refused */
};

#define PARSED_ORGANIZATION "01920000-0000-7000-8000-000000000001"
#define PARSED_KEY          "01920000-0000-7000-8000-00000000000a"

static inline void parsed_init(struct parsed *parsed, struct str body)
{
    *parsed = (struct parsed){.self = {.rate_limit_default = 1667, .cells = "main,second"}};
    arena_init(&parsed->arena, 64 << 20);
    parsed->command = (struct command){.arena = &parsed->arena, .body = body};
    errors_init(&parsed->command.errors, &parsed->arena);
    buf_init(&parsed->command.reply, &parsed->arena, 64);
    cr_assert(uuid_parse(STR(PARSED_ORGANIZATION), &parsed->command.caller.organization_id));
    cr_assert(uuid_parse(STR(PARSED_KEY), &parsed->command.caller.api_key_id));
}

static inline void parsed_run(struct parsed *parsed, const struct command_handler *handler)
{
    enum status st;

    parsed->command.handler = handler;
    st = command_parse(&parsed->command, &parsed->self);

    cr_assert(st == ST_OK || st == ST_REFUSED);
    parsed->is_accepted = st == ST_OK;
    parsed->query = st == ST_OK ? parsed->command.state : NULL;
}

/* Expects the command to be accepted. */
static inline void parsed_accepts(struct parsed *parsed, const struct command_handler *handler,
                                  const char *body)
{
    parsed_init(parsed, str_of(body));
    parsed_run(parsed, handler);
    cr_assert(parsed->is_accepted, "%s: refused: %s %s", body, parsed->command.errors.at[0].field,
              parsed->command.errors.at[0].message);
}

/* Expects the command to be refused with this first error; `field` NULL = none. */
static inline void parsed_refuses(const struct command_handler *handler, const char *body,
                                  const char *code, const char *field)
{
    struct parsed parsed;
    const struct error *first = &parsed.command.errors.at[0];

    parsed_init(&parsed, str_of(body));
    parsed_run(&parsed, handler);
    cr_assert_not(parsed.is_accepted, "%s: accepted", body);
    cr_assert_gt(parsed.command.errors.n, 0);
    cr_expect_str_eq(first->code, code, "%s: %s", body, first->code);
    cr_expect_str_eq(outcome_code(parsed.command.outcome), code);
    if (field == NULL)
        cr_expect_null(first->field, "%s: %s", body, first->field);
    else
        cr_expect(first->field != NULL && strcmp(first->field, field) == 0, "%s: %s", body,
                  first->field);
    arena_release(&parsed.arena);
}

/* Expects this parameter of the statement; `text` NULL = SQL NULL. */
static inline void parsed_param(const struct parsed *parsed, size_t i, const char *text)
{
    struct str got;

    cr_assert_lt(i, parsed->query->params.n);
    got = parsed->query->params.at[i];
    if (text == NULL)
        cr_expect_null(got.p, "parameter %zu is '%.*s'", i + 1, STR_ARG(got));
    else
        cr_expect(str_equal(got, str_of(text)), "parameter %zu is '%.*s'", i + 1, STR_ARG(got));
}

/* Expects the command to be refused when it names no organization. */
static inline void parsed_needs_organization(const struct command_handler *handler,
                                             const char *body)
{
    struct parsed parsed;

    parsed_init(&parsed, str_of(body));
    parsed.command.caller.organization_id = (struct uuid){{0}};
    parsed_run(&parsed, handler);
    cr_assert_not(parsed.is_accepted);
    cr_assert_str_eq(parsed.command.errors.at[0].field, "Organization-Id");
    arena_release(&parsed.arena);
}

#endif
