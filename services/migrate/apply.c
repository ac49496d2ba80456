#include "services/migrate/apply.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "services/migrate/step.h"

/* While a migration waits for a table, transactions that need the table queue behind it, and
   services give up after 300 ms. So a migration gives up earlier and is retried after growing
   pauses. */
#define MIGRATION_LOCK_WAIT "150ms"
/* Building an index concurrently waits for open transactions and blocks none. */
#define INDEX_LOCK_WAIT "60s"
/* No service waits for roles. */
#define ROLE_LOCK_WAIT "5s"
#define ROLE_TRIES     3

/* Between checks whether another program has finished. */
enum { LOCK_PAUSE_MS = 100 };

/* -- roles ------------------------------------------------------------------------------------- */

static enum status create_role(struct db_admin *admin, const struct database_role *role)
{
    char *verifier = NULL;
    const char *params[] = {role->name, ""};
    enum status st;

    if (role->password[0] != '\0') {
        verifier = db_admin_verifier(admin, role->name, role->password);
        if (verifier == NULL)
            return step_failed(admin, ST_INTERNAL, "verifier");
        params[1] = verifier;
    }
    st = step_script(admin, "BEGIN", "begin");
    if (st == ST_OK)
        st = step_query(admin, SQL_SET_ROLE, params, 2);
    if (st == ST_OK)
        st = step_script(admin, migrate_sql[SQL_CREATE_ROLE].text, role->name);
    if (st == ST_OK)
        st = step_script(admin, "COMMIT", "commit");
    else if (st == ST_INTERNAL && step_script(admin, "ROLLBACK", "rollback") != ST_OK)
        st = ST_UNAVAILABLE;

    if (verifier != NULL) {
        crypto_wipe(verifier, strlen(verifier));
        free(verifier);
    }
    return st;
}

/* Roles belong to the server, the lock to the database. So a migration of another database may be
   changing the same role ("tuple concurrently updated"): try again. */
static enum status create_roles(struct db_admin *admin, const struct apply_options *options)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < options->n_roles; i++) {
        for (int try = 0; try < ROLE_TRIES; try++) {
            st = create_role(admin, &options->roles[i]);
            if (st != ST_INTERNAL)
                break;
        }
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* -- migrations -------------------------------------------------------------------------------- */

/* The transaction of one migration. */
static enum status try_one(struct db_admin *admin, const struct migration *migration)
{
    char number[16];
    const char *row[] = {migration->service, number, migration->title, migration->checksum};
    enum status st;

    snprintf(number, sizeof(number), "%d", migration->number);
    st = step_script(admin, "BEGIN", "begin");
    if (st == ST_OK)
        st = step_script(admin, migration->text, migration->title);
    if (st == ST_OK)
        st = step_query(admin, SQL_RECORD_APPLIED, row, 4);
    if (st == ST_OK)
        st = step_script(admin, "COMMIT", "commit");
    return st;
}

static enum status apply_one(struct db_admin *admin, const struct migration *migration)
{
    struct retry retry = retry_begin();
    enum status st = try_one(admin, migration);

    while (retry_may(&retry, admin, st)) {
        st = step_script(admin, "ROLLBACK", "rollback");
        if (st == ST_OK)
            st = try_one(admin, migration);
    }
    if (st != ST_OK) {
        LOG(LOG_ERROR, "migration failed and was rolled back",
            log_str("schema", migration->service), log_int("number", migration->number),
            log_str("title", migration->title));
        return st;
    }
    LOG(LOG_INFO, "migration applied", log_str("schema", migration->service),
        log_int("number", migration->number), log_str("title", migration->title),
        log_int("took_us", clock_mono_us() - retry.start_us));
    return ST_OK;
}

/* Checks all migrations before any is applied. */
static enum status check(const struct apply_options *options, const struct applied *applied,
                         size_t n)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < options->n_migrations; i++) {
        const struct migration *migration = &options->migrations[i];
        enum plan_state state = plan_state(migration, applied, n);

        if (state == PLAN_APPLIED || state == PLAN_PENDING)
            continue;
        LOG(LOG_ERROR, "migration differs from what was applied",
            log_str("schema", migration->service), log_int("number", migration->number),
            log_str("title", migration->title), log_str("state", plan_state_name(state)));
        st = ST_REFUSED;
    }
    return st;
}

static enum status apply_pending(struct db_admin *admin, const struct apply_options *options)
{
    struct applied *applied;
    size_t n;
    enum status st = applied_read(admin, &applied, &n);

    if (st != ST_OK)
        return st;
    st = check(options, applied, n);
    for (size_t i = 0; st == ST_OK && i < options->n_migrations; i++) {
        if (plan_state(&options->migrations[i], applied, n) == PLAN_PENDING)
            st = apply_one(admin, &options->migrations[i]);
    }
    applied_free(applied, n);
    return st;
}

/* -- indexes of partitions --------------------------------------------------------------------- */

enum { INDEX_TEXTS = LIST_MISSING_INDEXES_ATTACHMENT + 1 };

/* A copy of a row of list_missing_indexes.sql, whose statements are run. */
struct index {
    char *texts[INDEX_TEXTS]; /* NULL = nothing to do */
};

static struct index copy_index(const struct db_admin *admin, size_t row)
{
    struct index index = {{NULL}};

    for (int i = 0; i < INDEX_TEXTS; i++) {
        const char *value = db_admin_value(admin, row, i);

        index.texts[i] = value != NULL ? strdup(value) : NULL;
        must((value == NULL) == (index.texts[i] == NULL));
    }
    return index;
}

static enum status attach_index(struct db_admin *admin, const struct index *index)
{
    struct retry retry = retry_begin();
    enum status st = step_limit_lock_wait(admin, MIGRATION_LOCK_WAIT);

    if (st != ST_OK)
        return st;
    do
        st = step_script(admin, index->texts[LIST_MISSING_INDEXES_ATTACHMENT],
                         index->texts[LIST_MISSING_INDEXES_NAME]);
    while (retry_may(&retry, admin, st));
    return st;
}

/* Runs outside of a transaction: neither writers nor the seal of the audit log wait for it. */
static enum status complete_index(struct db_admin *admin, const struct index *index)
{
    const int64_t start_us = clock_mono_us();
    enum status st = step_limit_lock_wait(admin, INDEX_LOCK_WAIT);

    for (int i = LIST_MISSING_INDEXES_REMOVAL; i <= LIST_MISSING_INDEXES_CREATION && st == ST_OK;
         i++)
        if (index->texts[i] != NULL)
            st = step_script(admin, index->texts[i], index->texts[LIST_MISSING_INDEXES_NAME]);
    if (st == ST_OK)
        st = attach_index(admin, index);
    if (st != ST_OK) {
        LOG(LOG_ERROR, "index was not completed; the next run resumes it",
            log_str("index", index->texts[LIST_MISSING_INDEXES_NAME]));
        return st;
    }
    LOG(LOG_INFO, "index completed", log_str("index", index->texts[LIST_MISSING_INDEXES_NAME]),
        log_int("took_us", clock_mono_us() - start_us));
    return ST_OK;
}

/* If partitions may have rows, a migration creates the index ON ONLY the partitioned table; here
   each partition gets its own. */
static enum status complete_indexes(struct db_admin *admin)
{
    enum status st = step_query(admin, SQL_LIST_MISSING_INDEXES, NULL, 0);
    size_t n = st == ST_OK ? db_admin_rows(admin) : 0;
    struct index *list = heap_zeroed(n + 1, sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = copy_index(admin, i);
    for (size_t i = 0; i < n; i++) {
        if (st == ST_OK)
            st = complete_index(admin, &list[i]);
        for (int j = 0; j < INDEX_TEXTS; j++)
            free(list[i].texts[j]);
    }
    free(list);
    return st;
}

/* -- the audit log's numbers ------------------------------------------------------------------- */

/* Must run before services append to an audit log that was restored on this server. */
static enum status continue_audit_numbers(struct db_admin *admin)
{
    struct retry retry = retry_begin();
    const char *added;
    enum status st = step_limit_lock_wait(admin, MIGRATION_LOCK_WAIT);

    if (st != ST_OK)
        return st;
    do
        st = step_query(admin, SQL_CONTINUE_AUDIT_NUMBERS, NULL, 0);
    while (retry_may(&retry, admin, st));
    if (st != ST_OK)
        return st;
    added = db_admin_value(admin, 0, CONTINUE_AUDIT_NUMBERS_ADDED);
    if (added != NULL)
        LOG(LOG_INFO,
            "the audit log comes from another server: its numbering continues on this one",
            log_str("added", added));
    return ST_OK;
}

/* -- all of it --------------------------------------------------------------------------------- */

static enum status lock(struct db_admin *admin, int wait_s)
{
    const int64_t until_us = clock_mono_us() + wait_s * INT64_C(1000000);
    enum status st;

    for (;;) {
        st = step_query(admin, SQL_LOCK, NULL, 0);
        if (st != ST_OK || strcmp(db_admin_value(admin, 0, LOCK_IS_HELD), "t") == 0)
            return st;
        if (clock_mono_us() >= until_us) {
            LOG(LOG_ERROR, "another process is still migrating this database");
            return ST_INTERNAL;
        }
        usleep(LOCK_PAUSE_MS * 1000);
    }
}

enum status apply_all(struct db_admin *admin, const struct apply_options *options)
{
    enum status st = lock(admin, options->lock_wait_s);

    if (st == ST_OK)
        st = step_limit_lock_wait(admin, ROLE_LOCK_WAIT);
    if (st == ST_OK)
        st = step_script(admin, migrate_sql[SQL_CREATE_VERSION_TABLE].text, "create_version_table");
    if (st == ST_OK)
        st = step_script(admin, migrate_sql[SQL_CREATE_FUNCTIONS].text, "create_functions");
    if (st == ST_OK)
        st = step_script(admin, migrate_sql[SQL_SECURE_DATABASE].text, "secure_database");
    if (st == ST_OK)
        st = create_roles(admin, options);
    if (st == ST_OK)
        st = step_limit_lock_wait(admin, MIGRATION_LOCK_WAIT);
    if (st == ST_OK)
        st = apply_pending(admin, options);
    if (st == ST_OK)
        st = complete_indexes(admin);
    if (st == ST_OK && options->has_audit_log)
        st = continue_audit_numbers(admin);
    return st;
}
