/* Heads on a real bus: each is published once, and proves what it says to whoever has the key. */
#include "services/audit/publish.h"

#include "common/wire/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/nats_server.h"
#include "tests/unit/services/audit/sealed.h"

enum { LINK_MS = 30000 };

static struct nats_server nats;
static struct bus *bus;
static struct bus_mailbox *heads; /* what was published, on the same connection: none is early */

static void open_bus(void)
{
    start();
    nats_server_prepare(&nats, NULL);
    nats_server_start(&nats);
    bus = bus_connect(&(struct bus_options){.url = nats.url, .name = "test"});
    heads = bus_serve(bus, SUBJECT_NOTICE_AUDIT_HEAD, "test");
    for (int64_t until = clock_mono_us() + LINK_MS * 1000LL;
         !bus_is_up(bus) && clock_mono_us() < until;)
        bus_wait(bus, 10);
    cr_assert(bus_is_up(bus));
}

static void close_bus(void)
{
    bus_free(bus);
    nats_server_stop(&nats);
    stop();
}

TestSuite(publish, .init = open_bus, .fini = close_bus, .timeout = 120);

static size_t publish(void)
{
    size_t n;

    cr_assert_eq(publish_heads(db, bus, &arena, &n), ST_OK);
    bus_flush(bus);
    return n;
}

static struct bus_message *next_head(void)
{
    struct bus_message *message;

    while ((message = bus_take(heads)) == NULL)
        bus_wait(bus, 1000);
    return message;
}

static void append_and_seal(const char *entry)
{
    struct pass pass = {0};

    postgres_do(server.url, entry);
    seal(&pass);
    cr_assert_gt(pass.sealed, 0);
}

Test(publish, tells_each_head_once)
{
    append_and_seal(ENTRY(ORG, "2 s", 1) ENTRY(OTHER, "2 s", 2));
    cr_assert_eq(publish(), 2);
    cr_assert_eq(publish(), 0);
    append_and_seal(ENTRY(OTHER, "1 s", 3));
    cr_assert_eq(publish(), 1, "only the chain that has grown");
    cr_assert_eq(count("SELECT count(*) FROM audit.heads JOIN audit.blocks "
                       "USING (organization_id, number, block_hash)"),
                 3);
}

Test(publish, tells_the_last_block_of_several)
{
    append_and_seal(ENTRY(ORG, "2 s", 1));
    append_and_seal(ENTRY(ORG, "1 s", 2));
    cr_assert_eq(publish(), 1);
    cr_assert_eq(count("SELECT number FROM audit.heads"), 2);
}

Test(publish, proves_what_it_says)
{
    struct bus_message *message;
    uint8_t hash[SHA256_BYTES], signature[SIGNING_SIGNATURE_BYTES];
    struct uuid organization;
    json_t *head;
    char error[160];

    append_and_seal(ENTRY(ORG, "2 s", 1) ENTRY(ORG, "1 s", 2));
    cr_assert_eq(publish(), 1);
    message = next_head();
    cr_assert(str_equal(bus_message_header(message, HEADER_ORGANIZATION), STR(ORG)));
    cr_assert(json_read(bus_message_body(message), &head, error), "%s", error);
    cr_assert(uuid_parse(json_member_text(head, "organization_id"), &organization));
    cr_assert(crypto_unhex(json_member_text(head, "block_hash"), hash, sizeof(hash)));
    cr_assert(crypto_unhex(json_member_text(head, "signature"), signature, sizeof(signature)));
    cr_assert(str_equal(json_member_text(head, "key_id"), str_of(signing_key_public(key)->id)));
    cr_assert(signing_is_by(
        signing_key_public(key),
        chain_head_text(&organization, json_integer_value(json_object_get(head, "number")),
                        json_integer_value(json_object_get(head, "entries")), hash, &arena),
        signature));
    cr_assert_eq(json_integer_value(json_object_get(head, "entries")), 2);
    json_free(head);
    bus_message_free(message);
}

Test(publish, keeps_heads_that_the_bus_does_not_take_for_later)
{
    append_and_seal(ENTRY(ORG, "2 s", 1));
    nats_server_kill(&nats);
    while (bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(publish(), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.heads"), 0);
    nats_server_start(&nats);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(publish(), 1);
}
