/* The query string of GET /audit, and the equivalent body: for any input, limits hold and a cursor
 * can be bound to the query. */
#include <stdint.h>
#include <stdlib.h>

#include "services/audit/audit_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_limits(bool is_read, const struct audit_query *query,
                          const struct errors *errors, struct arena *arena)
{
    const struct uuid organization = {{0}};

    if (is_read != (errors->n == 0))
        abort();
    if (is_read && (query->per_page < 1 || query->per_page > AUDIT_PER_PAGE_MAX))
        abort();
    if (is_read)
        audit_query_binding(query, &organization, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    static struct arena arena = {.cap = 16 << 20};
    struct errors errors;
    struct audit_query query;

    errors_init(&errors, &arena);
    expect_limits(audit_query_read(text, &arena, &query, &errors), &query, &errors, &arena);
    errors_init(&errors, &arena);
    expect_limits(audit_query_read_body(text, &arena, &query, &errors), &query, &errors, &arena);
    arena_clear(&arena);
    return 0;
}
