/* Heads on a real bus: each is published once, with a signature that the public key verifies. */
#include "common/base/ascii.h"
#include "services/audit/publish_heads.h"

#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/nats_server.h"
#include "tests/unit/services/audit/seal_fixture.h"

enum { LINK_MS = 30000 };

static struct nats_server nats;
static struct bus *bus;
static struct bus_mailbox *heads; /* on the connection that publishes heads: it misses none */

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

TestSuite(publish_heads, .init = open_bus, .fini = close_bus);

static size_t publisher(void)
{
    struct head_publisher round = {.keys = &keys};

    cr_assert_eq(publish_heads(&round, db, bus, &arena), ST_OK);
    bus_flush(bus);
    return round.n;
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
    struct seal_step sealing = {0};

    postgres_do(server.url, entry);
    seal(&sealing);
    cr_assert_gt(sealing.sealed, 0);
}

Test(publish_heads, publishes_each_head_once)
{
    append_and_seal(ENTRY(ORG, "2 s", 1) ENTRY(OTHER, "2 s", 2));
    cr_assert_eq(publisher(), 2);
    cr_assert_eq(publisher(), 0);
    append_and_seal(ENTRY(OTHER, "1 s", 3));
    cr_assert_eq(publisher(), 1, "only the chain that has grown");
    cr_assert_eq(count("SELECT count(*) FROM audit.heads JOIN audit.blocks "
                       "USING (organization_id, number, block_hash)"),
                 3);
}

Test(publish_heads, publishes_the_last_block_of_several)
{
    append_and_seal(ENTRY(ORG, "2 s", 1));
    append_and_seal(ENTRY(ORG, "1 s", 2));
    cr_assert_eq(publisher(), 1);
    cr_assert_eq(count("SELECT number FROM audit.heads"), 2);
}

Test(publish_heads, proves_what_it_says)
{
    struct bus_message *message;
    uint8_t hash[SHA256_BYTES], signature[SIGNING_SIGNATURE_BYTES];
    struct uuid organization;
    json_t *head;
    char error[160];

    append_and_seal(ENTRY(ORG, "2 s", 1) ENTRY(ORG, "1 s", 2));
    cr_assert_eq(publisher(), 1);
    message = next_head();
    cr_assert(str_equal(bus_message_header(message, HEADER_ORGANIZATION), STR(ORG)));
    cr_assert(json_read(bus_message_body(message), &head, error), "%s", error);
    cr_assert(uuid_parse(json_member_text(head, "organization_id"), &organization));
    cr_assert(hex_read(json_member_text(head, "block_hash"), hash, sizeof(hash)));
    cr_assert(hex_read(json_member_text(head, "signature"), signature, sizeof(signature)));
    cr_assert(
        str_equal(json_member_text(head, "key_id"), str_of(signing_key_public(keys.own)->id)));
    cr_assert(signing_is_by(
        signing_key_public(keys.own),
        chain_head_text(&organization, json_integer_value(json_object_get(head, "number")),
                        json_integer_value(json_object_get(head, "entries")), hash, &arena),
        signature));
    cr_assert_eq(json_integer_value(json_object_get(head, "entries")), 2);
    json_free(head);
    bus_message_free(message);
}

Test(publish_heads, keeps_heads_that_the_bus_does_not_take_for_later)
{
    append_and_seal(ENTRY(ORG, "2 s", 1));
    nats_server_kill(&nats);
    while (bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(publisher(), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.heads"), 0);
    nats_server_start(&nats);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    cr_assert_eq(publisher(), 1);
}

static void seal_as(const struct audit_keys *with, const char *entry)
{
    struct seal_step sealing = {.keys = with};

    postgres_do(server.url, entry);
    cr_assert_eq(seal_step_run(&sealing, db, &arena), ST_OK);
    cr_assert_eq(sealing.sealed, 1);
}

static size_t publish_as(const struct audit_keys *with)
{
    struct head_publisher round = {.keys = with};

    cr_assert_eq(publish_heads(&round, db, bus, &arena), ST_OK);
    return round.n;
}

/* During a change of keys. */
Test(publish_heads, leaves_blocks_after_an_unknown_key_to_other_replicas)
{
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];
    struct audit_keys new_one, both;

    hex_write(keys.known[0].bytes, SIGNING_PUBLIC_BYTES, hex);
    cr_assert(audit_keys_read("another key, which is long enough too", hex, &new_one));
    hex_write(new_one.known[0].bytes, SIGNING_PUBLIC_BYTES, hex);
    cr_assert(audit_keys_read(SECRET, hex, &both));
    seal_as(&new_one, ENTRY(ORG, "2 s", 1));
    seal_as(&both, ENTRY(OTHER, "1 s", 2));
    cr_assert_eq(publisher(), 0);
    cr_assert_eq(publish_as(&new_one), 2);
    cr_assert_eq(publisher(), 0);
    signing_key_free(new_one.own);
    signing_key_free(both.own);
}

Test(publish_heads, publishes_our_last_block_of_a_chain_with_foreign_ones_after_it)
{
    append_and_seal(ENTRY(ORG, "3 s", 1));
    append_and_seal(ENTRY(ORG, "2 s", 2));
    append_and_seal(ENTRY(OTHER, "1 s", 3));
    postgres_do(server.url, "UPDATE audit.blocks SET signature = sha512('') WHERE number = 2");
    cr_assert_eq(publisher(), 2);
    cr_assert_eq(count("SELECT number FROM audit.heads WHERE organization_id = '" ORG "'"), 1);
    cr_assert_eq(publisher(), 0, "once");
    postgres_do(server.url, "UPDATE audit.blocks SET key_id = 'x' WHERE number = 2");
    append_and_seal(ENTRY(OTHER, "0 s", 4));
    cr_assert_eq(publisher(), 1, "other heads are not delayed");
}
