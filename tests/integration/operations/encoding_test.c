/* A database with another encoding than the one that is required. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/api_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"

TestSuite(encoding, .init = stack_share);

enum { WITHIN_MS = 30000 };

static bool has_objection(void *closure)
{
    const struct client_response *response = replica_ask(closure, "/readyz");

    return response->status == 503 &&
           strstr(response->body, "the database's encoding is not UTF8") != NULL;
}

Test(encoding, other_than_utf8_is_refused_by_migrate_and_by_services)
{
    static const char *const encodings[] = {"LATIN1", "SQL_ASCII"};
    struct postgres_server server;
    struct replica conversation;

    postgres_server_prepare(&server);
    postgres_server_start(&server);
    for (size_t i = 0; i < 2; i++) {
        const char *url =
            format("postgresql://postgres@127.0.0.1:%u/%s", server.port, encodings[i]);
        int status;

        postgres_do(server.url,
                    format("CREATE DATABASE \"%s\" ENCODING '%s' LOCALE 'C' TEMPLATE template0",
                           encodings[i], encodings[i]));
        status =
            system(format("DATABASE_URL='%s' %s 2>&1 | grep -q 'the database cannot be used as "
                          "it is.*not UTF8.*is %s; make the database again'",
                          url, stack_program("migrate"), encodings[i]));
        cr_expect_eq(status, 0, "%s: migrate does not say so", encodings[i]);
        cr_expect_eq(WEXITSTATUS(system(format("DATABASE_URL='%s' %s >/dev/null 2>&1", url,
                                               stack_program("migrate")))),
                     1);
        replica_launch_of(&conversation, "conversation",
                          (const char *const[]){format("DATABASE_URL=%s", url), NULL});
        cr_expect(stack_wait(has_objection, &conversation, WITHIN_MS), "%s", encodings[i]);
        expect_status(replica_ask(&conversation, "/livez"), 200);
        replica_stop(&conversation);
    }
    postgres_server_stop(&server);
}
