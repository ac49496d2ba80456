/*
 * migrate - applies the services' migrations, then exits.
 *
 *     migrate            0 = all migrations of this program are applied
 *     migrate --status   prints the state of every migration; changes nothing
 *
 * Exit: 0 done, 1 failed (run it again when the cause is gone), 2 wrong usage or settings,
 * 3 the files do not match what was applied before (nothing was changed).
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/db/db_url.h"
#include "services/migrate/apply.h"

#define RECONNECT_MS 200
#define ATTEMPT_S    5 /* for each host of the URL */

struct migrate_config {
    const char *database_url;
    int64_t connect_timeout_s, lock_wait_s;
    const char *access, *conversation, *search, *audit, *webhook;
};

#define AT(member) offsetof(struct migrate_config, member)
#define PASSWORD(setting, member)                                                                  \
    {                                                                                              \
        setting, SETTING_STRING, AT(member), "", 0, 0, true,                                       \
            "Password of the role conv_" #member "; the role cannot log in until it has one"       \
    }

static const struct setting settings[] = {
    {"DATABASE_URL", SETTING_STRING, AT(database_url), NULL, 0, 0, true,
     "PostgreSQL, as its administrator"},
    {"CONNECT_TIMEOUT_S", SETTING_INT, AT(connect_timeout_s), "30", 1, 3600, false,
     "Seconds to keep trying to connect"},
    {"LOCK_WAIT_S", SETTING_INT, AT(lock_wait_s), "600", 1, 86400, false,
     "Seconds to wait for another process that migrates the same database"},
    PASSWORD("ACCESS_DB_PASSWORD", access),
    PASSWORD("CONVERSATION_DB_PASSWORD", conversation),
    PASSWORD("SEARCH_DB_PASSWORD", search),
    PASSWORD("AUDIT_DB_PASSWORD", audit),
    PASSWORD("WEBHOOK_DB_PASSWORD", webhook),
};
#define N_SETTINGS ARRAY_SIZE(settings)

/* Retries: the server may still be starting, or a standby about to be promoted. */
static enum status connect_in_time(const struct migrate_config *config, struct db_admin **out)
{
    int64_t until_us = clock_mono_us() + config->connect_timeout_s * 1000000;
    const struct timespec pause = {.tv_nsec = RECONNECT_MS * 1000000L};
    char error[DB_ADMIN_WHY];

    for (;;) {
        enum status st = db_admin_open(config->database_url, "migrate", ATTEMPT_S, out, error);

        if (st == ST_OK)
            return ST_OK;
        if (st != ST_UNAVAILABLE || clock_mono_us() >= until_us) {
            LOG(LOG_ERROR,
                st == ST_UNAVAILABLE ? "cannot connect to the database"
                                     : "the database cannot be used as it is",
                log_str("error", error));
            return st;
        }
        nanosleep(&pause, NULL);
    }
}

static enum status migrate(struct db_admin *admin, const struct migrate_config *config)
{
    const struct database_role roles[] = {
        {"conv_access", config->access},   {"conv_conversation", config->conversation},
        {"conv_search", config->search},   {"conv_audit", config->audit},
        {"conv_webhook", config->webhook},
    };
    const struct apply_options options = {
        .migrations = migrations,
        .n_migrations = migrations_count,
        .roles = roles,
        .n_roles = ARRAY_SIZE(roles),
        .lock_wait_s = (int)config->lock_wait_s,
        .has_audit_log = true,
    };

    return apply_all(admin, &options);
}

static int exit_code(enum status st)
{
    if (st == ST_OK)
        return 0;
    return st == ST_REFUSED ? 3 : 1;
}

static int usage(FILE *to, int code)
{
    fputs("usage: migrate [--status | --print-config | --describe-config | --version | --help]\n",
          to);
    return code;
}

int main(int argc, char **argv)
{
    static struct migrate_config config;
    struct db_admin *admin = NULL;
    const char *option = argc == 2 ? argv[1] : "", *fault;
    char error[256];
    enum status st;

    if (strcmp(option, "--help") == 0)
        return usage(stdout, 0);
    if (strcmp(option, "--version") == 0)
        return version_print();
    if (strcmp(option, "--describe-config") == 0) {
        config_describe(settings, N_SETTINGS, "migrate");
        return 0;
    }
    if (argc > 2 ||
        (argc == 2 && strcmp(option, "--status") != 0 && strcmp(option, "--print-config") != 0))
        return usage(stderr, 2);

    log_open("migrate", NULL, NULL, LOG_INFO);
    if (config_load(settings, N_SETTINGS, &config, error) != ST_OK) {
        LOG(LOG_ERROR, "settings", log_str("error", error));
        return 2;
    }
    if (strcmp(option, "--print-config") == 0) {
        config_print(settings, N_SETTINGS, &config);
        return 0;
    }
    fault = db_url_fault(config.database_url);
    if (fault != NULL) {
        LOG(LOG_ERROR, "DATABASE_URL cannot be used", log_str("reason", fault));
        return 2;
    }
    LOG(LOG_INFO, "starting", log_str("revision", version_revision));
    st = connect_in_time(&config, &admin);
    if (st != ST_OK)
        return exit_code(st);
    if (strcmp(option, "--status") == 0)
        st = plan_print(admin, migrations, migrations_count);
    else
        st = migrate(admin, &config);
    db_admin_free(admin);
    return exit_code(st);
}
