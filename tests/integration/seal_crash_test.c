/* The seal under load, while those who make it die. */
#include <criterion/criterion.h>
#include <signal.h>

#include "tests/support/api.h"
#include "tests/support/keep.h"
#include "tests/support/load.h"
#include "tests/support/sql.h"

TestSuite(seal_crash, .init = stack_have_alone, .timeout = 180);

enum { PER_SECOND = 200, KILLS = 3, PATIENCE_MS = 30000 };

struct death {
    const char *name;
    pid_t pid; /* before */
};

static bool is_another(void *closure)
{
    const struct death *death = closure;
    const pid_t now = stack_pid(death->name);

    return now > 1 && now != death->pid;
}

static bool is_sealed(void *closure)
{
    const struct org *org = closure;

    return sql_integer(
               "SELECT (SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid)"
               " - (SELECT coalesce(max(entries), 0) FROM audit.blocks"
               " WHERE organization_id = $1::uuid)",
               org->id, NULL) == 0;
}

/* Some more blocks of an organization than there were. */
struct growth {
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
    const struct growth *growth = closure;

    return blocks_of(growth->org) > growth->blocks;
}

static void kill_and_wait(const char *name)
{
    struct death death = {name, stack_pid(name)};

    stack_signal(name, SIGKILL);
    cr_assert(stack_wait(is_another, &death, PATIENCE_MS), "%s did not come back", name);
}

static void expect_sealed_once(const struct org *org)
{
    const json_t *said = keep(convctl("audit", "verify", "--org", org->id, NULL));
    const char *text = keep(json_dumps(said, 0));

    cr_assert(json_is_true(json_object_get(said, "ok")), "%s", text);
    cr_assert_eq(json_integer_value(json_object_get(said, "unsealed")), 0, "%s", text);
    cr_assert_eq(
        json_integer_value(json_object_get(said, "entries")),
        sql_integer("SELECT count(DISTINCT id) FROM audit.blocks, unnest(request_ids) AS id"
                    " WHERE organization_id = $1::uuid",
                    org->id, NULL));
}

Test(seal_crash, seals_every_entry_once_whoever_dies)
{
    struct org org;
    struct load *load;

    org_new(&org);
    load = load_start(&org, PER_SECOND);
    for (int i = 0; i < KILLS; i++) {
        struct growth growth = {&org, blocks_of(&org)};

        cr_assert(stack_wait(has_grown, &growth, PATIENCE_MS));
        kill_and_wait("audit-0");
    }
    load_stop(load);
    load_reckon(load);
    cr_assert(stack_wait(is_sealed, &org, PATIENCE_MS));
    expect_sealed_once(&org);
}
