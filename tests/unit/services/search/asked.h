/*
 * asked - bodies of searches, read. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_SEARCH_ASKED_H
#define TESTS_UNIT_SERVICES_SEARCH_ASKED_H

#include <criterion/criterion.h>
#include <string.h>

#include "services/search/query.h"

static struct arena arena;
static struct problems problems;
static struct query query;

static void open_arena(void)
{
    arena_init(&arena, 64 << 20);
}

static void close_arena(void)
{
    arena_release(&arena);
}

/* Of a search of the contact `u` with these further filters: JSON, a comma before each. */
#define SEARCH(more) "{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT more "]}}"
#define CONTACT      FILTER("contact.external_id", "=", "\"u\"")
#define FILTER(name, op, value)                                                                    \
    "{\"field\":\"" name "\",\"operator\":\"" op "\",\"value\":" value "}"
#define WITH(name, op, value) SEARCH("," FILTER(name, op, value))
#define ONLY(filter)          "{\"query\":" filter "}"

static inline bool reads_text(struct str body)
{
    problems_init(&problems, &arena);
    return query_read(body, &query, &problems);
}

static inline bool reads(const char *body)
{
    return reads_text(str_of(body));
}

static inline void assert_reads(const char *body)
{
    cr_assert(reads(body), "%s: %s %s: %s", body, problems.at[0].code, problems.at[0].field,
              problems.at[0].message);
}

/* `field` NULL = none. */
static inline void assert_problem(size_t i, const char *code, const char *field, const char *about)
{
    const struct problem *problem = &problems.at[i];

    cr_assert_lt(i, problems.n, "%s: %zu problems", about, problems.n);
    cr_assert_str_eq(problem->code, code, "%s: %s", about, problem->code);
    if (field == NULL)
        cr_assert_null(problem->field, "%s: %s", about, problem->field);
    else
        cr_assert(problem->field != NULL && strcmp(problem->field, field) == 0, "%s: %s", about,
                  problem->field);
}

/* The one thing that is wrong with it. */
static inline void assert_refuses(const char *body, const char *code, const char *field)
{
    cr_assert_not(reads(body), "%s", body);
    assert_problem(0, code, field, body);
    cr_assert_eq(problems.n, 1, "%s: %zu problems, the second: %s %s", body, problems.n,
                 problems.at[1].field, problems.at[1].message);
}

#endif
