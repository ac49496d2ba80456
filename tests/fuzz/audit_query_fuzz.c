/* The query string of GET /audit, and the body that says the same: whatever comes, limits hold and
 * a cursor can be bound to it. */
#include <stdint.h>
#include <stdlib.h>

#include "services/audit/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_limits(bool is_read, const struct audit_query *query,
                          const struct problems *problems, struct arena *arena)
{
    const struct uuid organization = {{0}};

    if (is_read != (problems->n == 0))
        abort();
    if (is_read && (query->per_page < 1 || query->per_page > AUDIT_PER_PAGE_MOST))
        abort();
    if (is_read)
        audit_query_binding(query, &organization, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    struct arena arena;
    struct problems problems;
    struct audit_query query;

    arena_init(&arena, 16 << 20);
    problems_init(&problems, &arena);
    expect_limits(audit_query_read(text, &arena, &query, &problems), &query, &problems, &arena);
    problems_init(&problems, &arena);
    expect_limits(audit_query_read_body(text, &arena, &query, &problems), &query, &problems,
                  &arena);
    arena_release(&arena);
    return 0;
}
