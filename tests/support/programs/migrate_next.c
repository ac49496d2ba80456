/*
 * migrate_next - applies migrations of a version that follows this one, as its `migrate` would.
 *
 * They change what every request uses, in the ways that programs of this version must not notice: a
 * column that may be NULL or has a default, an index of a partitioned table, a view. DATABASE_URL is
 * the administrator's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "services/migrate/apply.h"

static const struct migration next[] = {
    {"cell", 2, "next", "of a test", "ALTER TABLE cell.moves ADD COLUMN next text"},
    {"access", 2, "next", "of a test",
     "ALTER TABLE access.organizations ADD COLUMN next text NOT NULL DEFAULT 'x';"
     "ALTER TABLE access.api_keys ADD COLUMN next text;"},
    {"audit", 2, "next", "of a test",
     "ALTER TABLE audit.entries ADD COLUMN next text NOT NULL DEFAULT 'x';"
     "ALTER TABLE audit.blocks ADD COLUMN next text;"
     "CREATE INDEX entries_by_next ON ONLY audit.entries (next) WHERE next IS NULL;"},
    {"webhook", 2, "next", "of a test",
     "ALTER TABLE webhook.events ADD COLUMN next text;"
     "ALTER TABLE webhook.endpoints ADD COLUMN next text NOT NULL DEFAULT 'x';"
     "ALTER TABLE webhook.progress ADD COLUMN next text;"
     "ALTER TABLE webhook.queue ADD COLUMN next text NOT NULL DEFAULT 'x';"
     "ALTER TABLE webhook.deliveries ADD COLUMN next text;"
     "CREATE VIEW webhook.next_events AS SELECT organization_id, next FROM webhook.events;"},
    {"conversation", 2, "next", "of a test",
     "ALTER TABLE conversation.contacts ADD COLUMN next text;"
     "ALTER TABLE conversation.conversations ADD COLUMN next text NOT NULL DEFAULT 'x';"},
};

int main(void)
{
    const struct apply_options options = {
        .migrations = next,
        .n_migrations = ARRAY_SIZE(next),
        .lock_wait_s = 20,
    };
    const char *url = getenv("DATABASE_URL");
    char error[DB_ADMIN_WHY];
    struct db_admin *admin;
    enum status st;

    log_open("migrate", NULL, NULL, LOG_INFO);
    if (url == NULL || db_admin_open(url, "migrate", 10, &admin, error) != ST_OK) {
        fprintf(stderr, "migrate_next: %s\n", url == NULL ? "no DATABASE_URL" : error);
        return 1;
    }
    st = apply_all(admin, &options);
    db_admin_free(admin);
    return st == ST_OK ? 0 : 1;
}
