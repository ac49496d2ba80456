/* Sealing under load, while the audit service is killed, and while entries' numbers are raised. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/api_client.h"
#include "tests/support/load.h"
#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/replica.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(seal_crash, .init = stack_have_alone);

enum { PER_SECOND = 200, KILLS = 3, RAISES = 3, TIMEOUT_MS = 30000 };

/* More than this many blocks of an organization. */
struct awaited {
    const struct org *org;
    int64_t blocks;
};

static int64_t blocks_of(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid",
                       org->id, NULL);
}

static bool has_grown(void *closure)
{
    const struct awaited *awaited = closure;

    return blocks_of(awaited->org) > awaited->blocks;
}

static void expect_sealed_once(const struct org *org)
{
    const json_t *reply = never_free(convctl("audit", "verify", "--org", org->id, NULL));
    const char *text = never_free(json_dumps(reply, 0));

    cr_assert(json_is_true(json_object_get(reply, "ok")), "%s", text);
    cr_assert_eq(json_integer_value(json_object_get(reply, "unsealed")), 0, "%s", text);
    cr_assert_eq(
        json_integer_value(json_object_get(reply, "entries")),
        sql_integer("SELECT count(DISTINCT id) FROM audit.blocks, unnest(request_ids) AS id"
                    " WHERE organization_id = $1::uuid",
                    org->id, NULL));
}

Test(seal_crash, seals_every_entry_once_whichever_processes_die)
{
    struct org org;
    struct load *load;

    org_new(&org);
    load = load_start(&org, PER_SECOND);
    for (int i = 0; i < KILLS; i++) {
        struct awaited awaited = {&org, blocks_of(&org)};

        cr_assert(stack_wait(has_grown, &awaited, TIMEOUT_MS));
        stack_end("audit-0", SIGKILL);
    }
    load_stop(load);
    load_check_consistency(load);
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS));
    sealed_log_await_seal(&org);
    expect_sealed_once(&org);
}

/* As if the database had been restored from a server that was 5 billion transactions ahead. */
static void come_from_a_server_ahead(void)
{
    const char *ahead = "WITH block AS (SELECT * FROM audit.blocks"
                        "                ORDER BY last_xid DESC, organization_id DESC LIMIT 1)"
                        "INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, previous_hash, 1,"
                        " (last_xid::text::bigint + 5000000000)::text::xid8, last_request_id,"
                        " made_xid, made_at, request_ids, '', '', key_id, '' FROM block";

    postgres_do(stack_setting("DATABASE_URL"), ahead);
}

static int64_t added(void)
{
    return sql_integer("SELECT added FROM audit.numbering", NULL);
}

Test(seal_crash, seals_every_entry_once_while_its_numbers_are_raised)
{
    const char *command = format("DATABASE_URL='%s' '%s/migrate' >/dev/null",
                                 stack_setting("DATABASE_URL"), stack_setting("BIN_DIR"));
    struct org org;
    struct load *load;

    org_new(&org);
    load = load_start(&org, PER_SECOND);
    for (int i = 0; i < RAISES; i++) {
        const int64_t before = added();
        struct awaited awaited = {&org, blocks_of(&org)};

        cr_assert(stack_wait(has_grown, &awaited, TIMEOUT_MS));
        come_from_a_server_ahead();
        cr_assert_eq(system(command), 0);
        cr_assert_gt(added(), before);
        awaited.blocks = blocks_of(&org);
        cr_assert(stack_wait(has_grown, &awaited, TIMEOUT_MS));
    }
    load_stop(load);
    load_check_consistency(load);
    sealed_log_await_seal(&org);
    expect_sealed_once(&org);
    postgres_do(stack_setting("DATABASE_URL"), "DELETE FROM audit.blocks WHERE signature = ''");
}
