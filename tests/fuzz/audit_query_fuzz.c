/* The query string of GET /audit: whatever comes, limits hold and a cursor can be bound to it. */
#include <stdint.h>
#include <stdlib.h>

#include "services/audit/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct problems problems;
    struct audit_query query;
    struct uuid organization = {{0}};

    arena_init(&arena, 16 << 20);
    problems_init(&problems, &arena);
    if (audit_query_read((struct str){(const char *)data, size}, &arena, &query, &problems)) {
        if (query.per_page < 1 || query.per_page > AUDIT_PER_PAGE_MOST || problems.n != 0)
            abort();
        audit_query_binding(&query, &organization, &arena);
    } else if (problems.n == 0) {
        abort();
    }
    arena_release(&arena);
    return 0;
}
