/* Rekeying secrets while the sender works. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/db/params.h"
#include "services/webhook/webhook.h"
#include "tests/unit/services/webhook/webhook_fixture.h"

#define KEY      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define KEY_NEXT "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const char *const endpoints[] = {"01920000-0000-7000-8000-00000000000a",
                                        "01920000-0000-7000-8000-00000000000b"};

static struct db *senders; /* the sender's; `db` is the actors' */
static struct arena arena;
static struct webhook webhook;

/* Its current and next secrets are sealed with the keys `before`. */
static void make_sealed_endpoint(const struct secret_keys *before, const char *text)
{
    struct uuid organization, id;
    struct str sealed, next;

    cr_assert(uuid_parse(STR(ORG), &organization) && uuid_parse(str_of(text), &id));
    sealed = secret_seal(before, &arena, &organization, &id, secret_new(&arena));
    next = secret_seal(before, &arena, &organization, &id, secret_new(&arena));
    postgres_do(server.url,
                arena_printf(&arena,
                             "INSERT INTO webhook.endpoints (organization_id, id, url, events,"
                             " signing, secret, next_secret, created_at) VALUES ('" ORG "', '%s',"
                             " '', ARRAY['t'], true, decode('%.*s', 'hex'), decode('%.*s', 'hex'),"
                             " now() - interval '1 d')",
                             text, STR_ARG(sealed), STR_ARG(next)));
}

static void open_all(void)
{
    struct secret_keys before;

    arena_init(&arena, 16 << 20);
    start();
    senders = connect();
    cr_assert(secret_keys_read(STR(KEY), STR(""), &before));
    cr_assert(secret_keys_read(STR(KEY_NEXT), STR(KEY), &webhook.keys));
    for (int i = 0; i < 2; i++)
        make_sealed_endpoint(&before, endpoints[i]);
}

static void close_all(void)
{
    db_free(senders);
    stop();
    arena_release(&arena);
}

TestSuite(rekey, .init = open_all, .fini = close_all);

/* The new key alone opens the column of both endpoints. */
static void expect_opened(const char *column)
{
    char secret[ENDPOINT_SECRET_TEXT];
    struct uuid organization, id;
    struct secret_keys now;
    char *sealed;

    cr_assert(secret_keys_read(STR(KEY_NEXT), STR(""), &now));
    for (int i = 0; i < 2; i++) {
        cr_assert(uuid_parse(STR(ORG), &organization) && uuid_parse(str_of(endpoints[i]), &id));
        sealed =
            postgres_text(server.url, arena_printf(&arena,
                                                   "SELECT encode(%s, 'hex') FROM webhook.endpoints"
                                                   " WHERE id = '%s'",
                                                   column, endpoints[i]));
        cr_assert_not_null(sealed);
        cr_expect(secret_open(&now, &organization, &id, str_of(sealed), secret), "%s", column);
        free(sealed);
    }
}

static void *rekey(void *unused)
{
    struct arena own;

    arena_init(&own, 16 << 20);
    webhook_rekey(db, &own, &webhook);
    arena_release(&own);
    return NULL;
}

static void *fan_out(void *unused)
{
    db_open_batch(senders, clock_us() + 30 * INT64_C(1000000));
    db_add(senders, SQL_LOCK_QUEUE, NULL);
    db_add(senders, SQL_FAN_OUT,
           PARAMS(STR("10"), STR("10"), STR("10"), STR(NOBODY), STR("10"), STR("1:1:"), STR("{}"),
                  STR("{}")));
    cr_assert_eq(db_commit(senders), ST_OK);
    return NULL;
}

Test(rekey, takes_no_work_from_endpoints)
{
    PGconn *gate = PQconnectdb(server.url);
    pthread_t one, other;

    postgres_do(server.url, "INSERT INTO webhook.events (organization_id, id, type, data,"
                            " created_at) VALUES ('" ORG "', gen_random_uuid(), 't', '{}', now())");
    PQclear(PQexec(gate, "BEGIN; SELECT FROM webhook.endpoints ORDER BY id DESC LIMIT 1"
                         " FOR UPDATE"));
    cr_assert_eq(pthread_create(&one, NULL, rekey, NULL), 0);
    await_waiting(1);
    cr_assert_eq(pthread_create(&other, NULL, fan_out, NULL), 0);
    await_waiting(2);
    PQclear(PQexec(gate, "COMMIT"));
    PQfinish(gate);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    cr_assert_eq(webhook.rekey.rekeyed, 4);
    expect_opened("secret");
    expect_opened("next_secret");
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue"), 2);
    cr_assert_eq(count("SELECT count(*) FROM webhook.progress WHERE waits_from IS NOT NULL"), 2,
                 "otherwise waiting deliveries are never claimed");
}
