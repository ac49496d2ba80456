/* Contract 4.1 and 2.4: ping. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/api_client.h"

TestSuite(ping, .init = stack_share);

Test(ping, returns_organization_scope_and_time)
{
    struct org org;

    org_new(&org);
    for (int i = 0; i < 2; i++) {
        const long long before = (long long)time(NULL);
        struct client_response *response = api_get(i == 0 ? org.full_key : org.read_key, "/ping");
        long long server_time;

        expect_status(response, 200);
        expect_members(response->json, "type organization_id scope server_time");
        expect_text(response, "type", "ping");
        expect_text(response, "organization_id", org.id);
        expect_text(response, "scope", i == 0 ? "full" : "read");
        server_time = integer_at(response, "server_time");
        /* time() may be a tick behind the server's clock. */
        cr_assert(server_time >= before && server_time <= (long long)time(NULL) + 1);
        expect_recorded(&org, response, "ping");
    }
}

Test(ping, ignores_a_query_string)
{
    struct org org;

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping?per_page=0&anything"), 200);
}
