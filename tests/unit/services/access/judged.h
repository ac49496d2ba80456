/*
 * judged - a command as a judge gets it, without a bus and a database. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_ACCESS_JUDGED_H
#define TESTS_UNIT_SERVICES_ACCESS_JUDGED_H

#include <criterion/criterion.h>
#include <string.h>

#include "services/access/access.h"

struct judged {
    struct arena arena;
    struct access self;
    struct command command;
    struct access_ask *ask; /* NULL when refused */
};

#define JUDGED_ORGANIZATION "01920000-0000-7000-8000-000000000001"
#define JUDGED_KEY          "01920000-0000-7000-8000-00000000000a"

static inline void judged_init(struct judged *judged, struct str body)
{
    *judged = (struct judged){.self = {.rate_limit_default = 1667}};
    arena_init(&judged->arena, 64 << 20);
    judged->command = (struct command){.arena = &judged->arena, .body = body};
    problems_init(&judged->command.problems, &judged->arena);
    buf_init(&judged->command.reply, &judged->arena, 64);
    cr_assert(uuid_parse(STR(JUDGED_ORGANIZATION), &judged->command.caller.organization_id));
    cr_assert(uuid_parse(STR(JUDGED_KEY), &judged->command.caller.api_key_id));
}

static inline void judged_run(struct judged *judged, enum status (*judge)(struct command *, void *))
{
    enum status st = judge(&judged->command, &judged->self);

    cr_assert(st == ST_OK || st == ST_REFUSED);
    judged->ask = st == ST_OK ? judged->command.state : NULL;
}

/* The command is accepted. */
static inline void judged_accepts(struct judged *judged,
                                  enum status (*judge)(struct command *, void *), const char *body)
{
    judged_init(judged, str_of(body));
    judged_run(judged, judge);
    cr_assert_not_null(judged->ask, "%s: refused: %s %s", body,
                       judged->command.problems.at[0].field,
                       judged->command.problems.at[0].message);
}

/* The command is refused with this as its first problem; `field` NULL = none. */
static inline void judged_refuses(enum status (*judge)(struct command *, void *), const char *body,
                                  const char *code, const char *field)
{
    struct judged judged;
    const struct problem *first = &judged.command.problems.at[0];

    judged_init(&judged, str_of(body));
    judged_run(&judged, judge);
    cr_assert_null(judged.ask, "%s: accepted", body);
    cr_assert_gt(judged.command.problems.n, 0);
    cr_expect_str_eq(first->code, code, "%s: %s", body, first->code);
    cr_expect_str_eq(outcome_code(judged.command.outcome), code);
    if (field == NULL)
        cr_expect_null(first->field, "%s: %s", body, first->field);
    else
        cr_expect(first->field != NULL && strcmp(first->field, field) == 0, "%s: %s", body,
                  first->field);
    arena_release(&judged.arena);
}

/* A parameter of the statement; NULL text = SQL NULL. */
static inline void judged_param(const struct judged *judged, size_t i, const char *text)
{
    struct str got;

    cr_assert_lt(i, judged->ask->params.n);
    got = judged->ask->params.at[i];
    if (text == NULL)
        cr_expect_null(got.p, "parameter %zu is '%.*s'", i + 1, STR_ARG(got));
    else
        cr_expect(str_equal(got, str_of(text)), "parameter %zu is '%.*s'", i + 1, STR_ARG(got));
}

/* A judge that needs the organization refuses a command that names none. */
static inline void judged_needs_organization(enum status (*judge)(struct command *, void *),
                                             const char *body)
{
    struct judged judged;

    judged_init(&judged, str_of(body));
    judged.command.caller.organization_id = (struct uuid){{0}};
    judged_run(&judged, judge);
    cr_assert_null(judged.ask);
    cr_assert_str_eq(judged.command.problems.at[0].field, "Organization-Id");
    arena_release(&judged.arena);
}

#endif
