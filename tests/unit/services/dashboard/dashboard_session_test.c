#include "services/dashboard/dashboard_session.h"

#include <criterion/criterion.h>
#include <string.h>

#include "services/dashboard/dashboard_request.h"

enum { ARENA_MAX = 256 * 1024 }; /* as in edge_request_begin() */

Test(dashboard_session, of_a_long_export_may_be_checked_any_number_of_times)
{
    struct dashboard_request request = {.token = STR_NONE};

    memset(request.token_hash, 'a', sizeof(request.token_hash) - 1);
    arena_init(&request.http.arena, ARENA_MAX);
    for (int step = 0; step < 3000; step++) {
        struct str body = dashboard_token_body(&request);

        cr_assert(str_starts(body, STR("{\"token_hash\":\"aaaa")));
        cr_assert_eq(body.n, sizeof("{\"token_hash\":\"\"}") - 1 + sizeof(request.token_hash) - 1);
    }
    arena_release(&request.http.arena);
}
