#include "tests/support/changes.h"

#include <criterion/criterion.h>

#include "tests/support/api_client.h"
#include "tests/support/sql.h"

enum { SOON_MS = 30 * 1000 };

/* A change leaves the outbox once the log has it. */
static bool have_left(void *closure)
{
    const char *const *organization_id = closure;

    return sql_integer("SELECT count(*) FROM access.outbox WHERE organization_id = $1::uuid",
                       *organization_id, NULL) == 0;
}

void changes_await(const char *organization_id)
{
    cr_assert(stack_wait(have_left, &organization_id, SOON_MS),
              "changes of %s are still in the outbox", organization_id);
}

int64_t changes_count(const char *organization_id, const char *condition)
{
    changes_await(organization_id);
    return sql_integer(format("SELECT count(*) FROM audit.changes WHERE organization_id = '%s'"
                              " AND %s",
                              organization_id, condition),
                       NULL);
}
