/*
 * query_fixture - parses the bodies of searches. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_SEARCH_QUERY_FIXTURE_H
#define TESTS_UNIT_SERVICES_SEARCH_QUERY_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "services/search/search_query.h"

static struct arena arena;
static struct errors errors;
static struct search_query query;

static void open_arena(void)
{
    arena_init(&arena, 64 << 20);
}

static void close_arena(void)
{
    arena_release(&arena);
}

/* The body of a search for contact `u`. `more`: further filters as JSON, each after a comma. */
#define SEARCH(more) "{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT more "]}}"
#define CONTACT      FILTER("contact.external_id", "=", "\"u\"")
#define FILTER(name, op, value)                                                                    \
    "{\"field\":\"" name "\",\"operator\":\"" op "\",\"value\":" value "}"
#define WITH(name, op, value) SEARCH("," FILTER(name, op, value))
#define ONLY(filter)          "{\"query\":" filter "}"

static inline bool reads_text(struct str body)
{
    errors_init(&errors, &arena);
    return search_query_read(body, &query, &errors);
}

static inline bool reads(const char *body)
{
    return reads_text(str_of(body));
}

static inline void assert_reads(const char *body)
{
    cr_assert(reads(body), "%s: %s %s: %s", body, errors.at[0].code, errors.at[0].field,
              errors.at[0].message);
}

/* Expects error `i`; `field` NULL = none. */
static inline void assert_error(size_t i, const char *code, const char *field, const char *about)
{
    const struct error *error = &errors.at[i];

    cr_assert_lt(i, errors.n, "%s: %zu errors", about, errors.n);
    cr_assert_str_eq(error->code, code, "%s: %s", about, error->code);
    if (field == NULL)
        cr_assert_null(error->field, "%s: %s", about, error->field);
    else
        cr_assert(error->field != NULL && strcmp(error->field, field) == 0, "%s: %s", about,
                  error->field);
}

/* Expects exactly one error. */
static inline void assert_refuses(const char *body, const char *code, const char *field)
{
    cr_assert_not(reads(body), "%s", body);
    assert_error(0, code, field, body);
    cr_assert_eq(errors.n, 1, "%s: %zu errors, the second: %s %s", body, errors.n,
                 errors.at[1].field, errors.at[1].message);
}

#endif
