#include "services/migrate/apply.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"
#include "migrate_sql.h"
#include "services/migrate/plan.h"

/* A lock that is not to be had at once makes everything behind it wait: better to fail and be run
   again. */
#define MIGRATION_LOCK_WAIT "5s"
#define ROLE_TRIES          3

static enum status failed(const struct db_admin *admin, enum status st, const char *step)
{
    LOG(LOG_ERROR, "the database refused a step", log_str("step", step),
        log_str("sqlstate", db_admin_sqlstate(admin)), log_str("error", db_admin_error(admin)));
    return st;
}

static enum status script(struct db_admin *admin, const char *text, const char *step)
{
    enum status st = db_admin_script(admin, text);

    return st == ST_OK ? ST_OK : failed(admin, st, step);
}

static enum status query(struct db_admin *admin, enum migrate_sql statement,
                         const char *const *params, size_t n)
{
    enum status st = db_admin_query(admin, migrate_sql[statement].text, params, n);

    return st == ST_OK ? ST_OK : failed(admin, st, migrate_sql[statement].name);
}

/* The rows of migration.applied, in one block of memory; NULL only when the query failed. */
static enum status read_applied(struct db_admin *admin, struct applied **out, size_t *n)
{
    struct applied *list;
    uint64_t number;
    enum status st = query(admin, SQL_LIST_APPLIED, NULL, 0);

    if (st != ST_OK)
        return st;
    *n = db_admin_rows(admin);
    list = calloc(*n + 1, sizeof(*list));
    must(list != NULL);
    for (size_t i = 0; i < *n; i++) {
        list[i].service = strdup(db_admin_value(admin, i, 0));
        must(str_to_u64(str_of(db_admin_value(admin, i, 1)), INT_MAX, &number));
        list[i].number = (int)number;
        list[i].checksum = strdup(db_admin_value(admin, i, 2));
        must(list[i].service != NULL && list[i].checksum != NULL);
    }
    *out = list;
    return ST_OK;
}

static void free_applied(struct applied *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)list[i].service);
        free((char *)list[i].checksum);
    }
    free(list);
}

static enum status create_role(struct db_admin *admin, const struct role *role)
{
    char *verifier = NULL;
    const char *params[] = {role->name, ""};
    enum status st;

    if (role->password[0] != '\0') {
        verifier = db_admin_verifier(admin, role->name, role->password);
        if (verifier == NULL)
            return failed(admin, ST_INTERNAL, "verifier");
        params[1] = verifier;
    }
    st = script(admin, "BEGIN", "begin");
    if (st == ST_OK)
        st = query(admin, SQL_SET_ROLE, params, 2);
    if (st == ST_OK)
        st = script(admin, migrate_sql[SQL_CREATE_ROLE].text, role->name);
    if (st == ST_OK)
        st = script(admin, "COMMIT", "commit");
    else if (st == ST_INTERNAL && script(admin, "ROLLBACK", "rollback") != ST_OK)
        st = ST_UNAVAILABLE;

    if (verifier != NULL) {
        crypto_wipe(verifier, strlen(verifier));
        free(verifier);
    }
    return st;
}

/* Roles belong to the server and the lock to the database, so a neighbour may be at the same role
   ("tuple concurrently updated"). */
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

static enum status apply_one(struct db_admin *admin, const struct migration *migration)
{
    char number[16];
    const char *row[] = {migration->service, number, migration->title, migration->checksum};
    int64_t start_us = clock_mono_us();
    enum status st;

    snprintf(number, sizeof(number), "%d", migration->number);
    st = script(admin, "BEGIN", "begin");
    if (st == ST_OK)
        st = script(admin, migration->text, migration->title);
    if (st == ST_OK)
        st = query(admin, SQL_RECORD_APPLIED, row, 4);
    if (st == ST_OK)
        st = script(admin, "COMMIT", "commit");
    if (st != ST_OK) {
        LOG(LOG_ERROR, "migration failed and was rolled back", log_str("of", migration->service),
            log_int("number", migration->number), log_str("title", migration->title));
        return st;
    }
    printf("{\"service\":\"%s\",\"number\":%d,\"title\":\"%s\",\"ms\":%" PRId64 "}\n",
           migration->service, migration->number, migration->title,
           (clock_mono_us() - start_us) / 1000);
    fflush(stdout);
    return ST_OK;
}

/* Everything is compared before anything is applied. */
static enum status check(const struct apply_options *options, const struct applied *applied,
                         size_t n)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < options->n_migrations; i++) {
        const struct migration *migration = &options->migrations[i];
        enum plan_state state = plan_state(migration, applied, n);

        if (state == PLAN_APPLIED || state == PLAN_PENDING)
            continue;
        LOG(LOG_ERROR, "migration does not fit what was applied", log_str("of", migration->service),
            log_int("number", migration->number), log_str("title", migration->title),
            log_str("state", plan_state_name(state)));
        st = ST_REFUSED;
    }
    return st;
}

static enum status apply_pending(struct db_admin *admin, const struct apply_options *options)
{
    struct applied *applied;
    size_t n;
    enum status st = read_applied(admin, &applied, &n);

    if (st != ST_OK)
        return st;
    st = check(options, applied, n);
    for (size_t i = 0; st == ST_OK && i < options->n_migrations; i++) {
        if (plan_state(&options->migrations[i], applied, n) == PLAN_PENDING)
            st = apply_one(admin, &options->migrations[i]);
    }
    free_applied(applied, n);
    return st;
}

static enum status limit_lock_wait(struct db_admin *admin, const char *wait)
{
    return query(admin, SQL_LIMIT_LOCK_WAIT, &wait, 1);
}

enum status apply_all(struct db_admin *admin, const struct apply_options *options)
{
    char wait[16];
    enum status st;

    snprintf(wait, sizeof(wait), "%ds", options->lock_wait_s);
    st = limit_lock_wait(admin, wait);
    if (st == ST_OK)
        st = query(admin, SQL_LOCK, NULL, 0);
    if (st == ST_OK)
        st = limit_lock_wait(admin, MIGRATION_LOCK_WAIT);
    if (st == ST_OK)
        st = script(admin, migrate_sql[SQL_CREATE_LEDGER].text, "create_ledger");
    if (st == ST_OK)
        st = script(admin, migrate_sql[SQL_SECURE_DATABASE].text, "secure_database");
    if (st == ST_OK)
        st = create_roles(admin, options);
    if (st == ST_OK)
        st = apply_pending(admin, options);
    return st;
}

enum status apply_status(struct db_admin *admin, const struct migration *list, size_t n)
{
    struct applied *applied = NULL;
    size_t n_applied = 0;
    enum status st = query(admin, SQL_HAS_LEDGER, NULL, 0);

    if (st == ST_OK && strcmp(db_admin_value(admin, 0, 0), "t") == 0)
        st = read_applied(admin, &applied, &n_applied);
    if (st != ST_OK)
        return st;

    printf("[");
    for (size_t i = 0; i < n; i++) {
        printf("%s{\"service\":\"%s\",\"number\":%d,\"title\":\"%s\",\"state\":\"%s\"}",
               i > 0 ? "," : "", list[i].service, list[i].number, list[i].title,
               plan_state_name(plan_state(&list[i], applied, n_applied)));
    }
    printf("]\n");
    free_applied(applied, n_applied);
    return ST_OK;
}
