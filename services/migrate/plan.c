#include "services/migrate/plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "services/migrate/step.h"

/* -- the version table ------------------------------------------------------------------------- */

void applied_free(struct applied *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)list[i].service);
        free((char *)list[i].checksum);
    }
    free(list);
}

enum status applied_read(struct db_admin *admin, struct applied **out, size_t *n)
{
    struct applied *list;
    uint64_t number;
    enum status st = step_query(admin, SQL_LIST_APPLIED, NULL, 0);

    if (st != ST_OK)
        return st;
    *n = db_admin_rows(admin);
    list = heap_zeroed(*n + 1, sizeof(*list));
    for (size_t i = 0; i < *n; i++) {
        if (!str_to_u64(str_of(db_admin_value(admin, i, LIST_APPLIED_NUMBER)), INT_MAX, &number)) {
            LOG(LOG_ERROR, "a row of the version table has an invalid migration number");
            applied_free(list, i);
            return ST_INTERNAL;
        }
        list[i].service = strdup(db_admin_value(admin, i, LIST_APPLIED_SERVICE));
        list[i].number = (int)number;
        list[i].checksum = strdup(db_admin_value(admin, i, LIST_APPLIED_CHECKSUM));
        must(list[i].service != NULL && list[i].checksum != NULL);
    }
    *out = list;
    return ST_OK;
}

/* -- the state of each migration --------------------------------------------------------------- */

enum plan_state plan_state(const struct migration *migration, const struct applied *applied,
                           size_t n)
{
    bool later_is_applied = false;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(applied[i].service, migration->service) != 0)
            continue;
        if (applied[i].number > migration->number)
            later_is_applied = true;
        if (applied[i].number == migration->number)
            return strcmp(applied[i].checksum, migration->checksum) == 0 ? PLAN_APPLIED
                                                                         : PLAN_CHANGED;
    }
    return later_is_applied ? PLAN_LATE : PLAN_PENDING;
}

const char *plan_state_name(enum plan_state state)
{
    static const char *const names[] = {
        [PLAN_APPLIED] = "applied",
        [PLAN_PENDING] = "pending",
        [PLAN_CHANGED] = "changed",
        [PLAN_LATE] = "late",
    };

    return names[state];
}

enum status plan_print(struct db_admin *admin, const struct migration *list, size_t n)
{
    struct applied *applied = NULL;
    size_t n_applied = 0;
    enum status st = step_query(admin, SQL_HAS_VERSION_TABLE, NULL, 0);

    if (st == ST_OK && strcmp(db_admin_value(admin, 0, HAS_VERSION_TABLE_IS_THERE), "t") == 0)
        st = applied_read(admin, &applied, &n_applied);
    if (st != ST_OK)
        return st;

    printf("[");
    for (size_t i = 0; i < n; i++) {
        printf("%s{\"service\":\"%s\",\"number\":%d,\"title\":\"%s\",\"state\":\"%s\"}",
               i > 0 ? "," : "", list[i].service, list[i].number, list[i].title,
               plan_state_name(plan_state(&list[i], applied, n_applied)));
    }
    printf("]\n");
    applied_free(applied, n_applied);
    return ST_OK;
}
