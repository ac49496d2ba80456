/* Secrets are sealed anew while the sender works. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "services/webhook/webhook.h"
#include "tests/support/postgres_server.h"

#define KEY      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_NEXT "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define ORG      "01920000-0000-7000-8000-000000000001"

static const char *const endpoints[] = {"01920000-0000-7000-8000-00000000000a",
                                        "01920000-0000-7000-8000-00000000000b"};

static const struct postgres_template template = {
    .name = "webhook",
    .roles = {"conv_conversation", "conv_webhook"},
    .migrations = {"services/webhook/migrations/*.sql"},
};
static struct postgres_server server;
static struct db *actors, *senders;
static struct arena arena;
static struct webhook webhook;

static struct db *connect(void)
{
    static char url[POSTGRES_URL_MOST];
    struct db *db;

    postgres_url_as(&server, "conv_webhook", url);
    db = db_new(&(struct db_options){
        .url = url, .name = "test", .statements = webhook_sql, .n_statements = WEBHOOK_SQL_COUNT});
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    return db;
}

/* With a secret that the key before has sealed. */
static void make_endpoint(const struct secret_keys *before, const char *text)
{
    struct uuid organization, id;
    struct str sealed;

    cr_assert(uuid_parse(STR(ORG), &organization) && uuid_parse(str_of(text), &id));
    sealed = secret_seal(before, &arena, &organization, &id, secret_new(&arena));
    postgres_do(server.url,
                arena_printf(&arena,
                             "INSERT INTO webhook.endpoints (organization_id, id, url, events,"
                             " signing, secret, created_at) VALUES ('" ORG "', '%s', '',"
                             " ARRAY['t'], true, decode('%.*s', 'hex'), now() - interval '1 d')",
                             text, STR_ARG(sealed)));
}

static void start(void)
{
    struct secret_keys before;

    arena_init(&arena, 16 << 20);
    postgres_server_share(&server, &template);
    actors = connect();
    senders = connect();
    cr_assert(secret_keys_read(STR(KEY), STR(""), &before));
    cr_assert(secret_keys_read(STR(KEY_NEXT), STR(KEY), &webhook.keys));
    for (int i = 0; i < 2; i++)
        make_endpoint(&before, endpoints[i]);
}

static void stop(void)
{
    db_free(actors);
    db_free(senders);
    postgres_server_stop(&server);
    arena_release(&arena);
}

TestSuite(reseal, .init = start, .fini = stop, .timeout = 120);

static void *reseal(void *unused)
{
    struct arena own;

    arena_init(&own, 16 << 20);
    webhook_reseal(actors, &own, &webhook);
    arena_release(&own);
    return NULL;
}

static void *fan_out(void *unused)
{
    const db_param params[] = {STR("10"), STR("10")};

    db_open_batch(senders, clock_us() + 30 * INT64_C(1000000));
    db_add(senders, SQL_LOCK_QUEUE, NULL, 0);
    db_add(senders, SQL_FAN_OUT, params, 2);
    cr_assert_eq(db_commit(senders), ST_OK);
    return NULL;
}

static void await_waiting(int n)
{
    postgres_await(server.url, arena_printf(&arena,
                                            "SELECT (count(*) = %d)::int FROM pg_stat_activity"
                                            " WHERE application_name = 'test' AND"
                                            " wait_event_type = 'Lock' AND"
                                            " datname = current_database()",
                                            n));
}

Test(reseal, takes_no_work_from_endpoints)
{
    PGconn *gate = PQconnectdb(server.url);
    pthread_t one, other;

    postgres_do(server.url, "INSERT INTO webhook.events (organization_id, id, type, data,"
                            " created_at) VALUES ('" ORG "', gen_random_uuid(), 't', '{}', now())");
    PQclear(PQexec(gate, "BEGIN; SELECT FROM webhook.endpoints ORDER BY id DESC LIMIT 1"
                         " FOR UPDATE"));
    cr_assert_eq(pthread_create(&one, NULL, reseal, NULL), 0);
    await_waiting(1);
    cr_assert_eq(pthread_create(&other, NULL, fan_out, NULL), 0);
    await_waiting(2);
    PQclear(PQexec(gate, "COMMIT"));
    PQfinish(gate);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    cr_assert_eq(webhook.reseal.resealed, 2);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM webhook.queue"), 2);
    cr_assert_eq(
        postgres_integer(server.url, "SELECT count(*) FROM webhook.endpoints WHERE has_work"), 2,
        "what waits is never claimed");
}
