/*
 * Sealing on a real database that has blocks which the sealer did not write: blocks of another
 * server, altered blocks, and forged ones.
 */
#include <unistd.h>

#include "common/base/ascii.h"
#include "services/audit/ends_place.h"
#include "services/audit/verify_block.h"
#include "tests/support/measure.h"
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(seal_foreign, .init = start, .fini = stop);

/* Signs the only block of the audit log again after a change, as the sealer of another server would
   have signed it. */
static void sign_block_at(const char *xid, int64_t entries)
{
    struct verify_block block;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    char hash_hex[2 * SHA256_BYTES + 1], signature_hex[2 * SIGNING_SIGNATURE_BYTES + 1];
    size_t asked;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    asked = ends_ask_place(db, NULL);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert(verify_read_block(db_result(db, asked), 0, &arena, &block));
    cr_assert(uuid_parse(STR(ORG), &block.sealed.organization_id));
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert(str_to_u64(str_of(xid), UINT64_MAX, &block.sealed.last_xid));
    block.sealed.entries = entries;
    chain_hash_block(&block.sealed, &arena, block.hash);
    signing_make(keys.own,
                 chain_head_text(&block.sealed.organization_id, block.sealed.number,
                                 block.sealed.entries, block.hash, &arena),
                 signature);
    hex_write(block.hash, sizeof(block.hash), hash_hex);
    hex_write(signature, sizeof(signature), signature_hex);
    postgres_do(server.url, arena_printf(&arena,
                                         "UPDATE audit.blocks SET last_xid = '%s', entries = %lld,"
                                         " block_hash = decode('%s', 'hex'), signature ="
                                         " decode('%s', 'hex')",
                                         xid, (long long)entries, hash_hex, signature_hex));
}

Test(seal_foreign, notices_that_the_audit_log_comes_from_another_cluster)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    seal(&sealing);
    cr_assert_not(sealing.is_adrift);
    cr_assert_eq(sealing.oldest_us, 0);
    sign_block_at("4000000000", 1);
    postgres_do(server.url, ENTRY(ORG, "0 s", 2));
    seal(&sealing);
    cr_assert(sealing.is_adrift);
    cr_assert_eq(sealing.sealed, 0);
}

/* Blocks that conv_audit or the owner can add, with an unknown key. */
#define STRANGE(organization, xid, n)                                                              \
    "INSERT INTO audit.blocks SELECT " organization ", 1000 + n, previous_hash, 9007199254740992," \
    " " xid ", last_request_id, made_xid, made_at, request_ids, entry_hashes, sha256(''), 'x',"    \
    " sha512('') FROM (SELECT * FROM audit.blocks LIMIT 1) AS block, generate_series(1, " #n       \
    ") AS"                                                                                         \
    " n;"
#define SETTLED "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8"

#define CONTINUE_NUMBERS "SELECT coalesce(audit.continue_numbers(), 0)"
/* The last transaction in a log restored from a server with four thousand million of them. */
#define AHEAD "4000000000"

Test(seal_foreign, continues_the_numbers_of_another_server)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, "UPDATE audit.blocks SET made_xid = '4000000100'");
    sign_block_at(AHEAD, 1);
    postgres_do(server.url, "UPDATE audit.entries SET xid = '" AHEAD "'");
    /* Entries that the other server had not sealed when the backup was made. */
    postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
    postgres_do(server.url, "UPDATE audit.entries SET xid = '4000000200' WHERE xid < '" AHEAD "'");
    cr_assert_gt(count(CONTINUE_NUMBERS), 0);
    cr_assert_eq(count(CONTINUE_NUMBERS), 0, "once is enough");
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    cr_assert_eq(count("SELECT count(*) FROM audit.entries WHERE xid > '4000000200'"), 1);
    sealing = (struct seal_step){0};
    seal(&sealing);
    cr_assert_not(seal_step_has_stopped(&sealing));
    cr_assert_eq(sealing.sealed, 3);
    cr_assert_eq(sealing.implausible + sealing.misdated, 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" ORG "'"
                       " AND made_xid > last_xid AND made_xid > '4000000200'"),
                 1);
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 0, "nothing is sealed twice");
}

Test(seal_foreign, adds_nothing_to_numbers_on_the_server_of_the_log)
{
    PGconn *slow = session();

    cr_assert_eq(count(CONTINUE_NUMBERS), 0, "an empty log has no number");
    /* Later transactions commit before this one, which has a lower number, asks. */
    say(slow, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    say(slow, "DO $$ BEGIN ASSERT audit.continue_numbers() IS NULL; END $$");
    say(slow, "COMMIT");
    cr_assert_eq(count("SELECT added FROM audit.numbering"), 0);
    cr_assert_eq(count("SELECT count(*) FROM pg_attrdef WHERE adrelid = 'audit.entries'::regclass"
                       " AND pg_get_expr(adbin, adrelid) = 'pg_current_xact_id()'"),
                 1, "appending costs as much as before");
    PQfinish(slow);
}

Test(seal_foreign, adds_no_more_for_numbers_that_no_server_reaches)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, STRANGE("'" OTHER "'", "'18446744073709551615'", 1));
    postgres_do(server.url, ENTRY(OTHER, "1 s",
                                  2) "UPDATE audit.entries SET xid ="
                                     " '9223372036854775808' WHERE organization_id = '" OTHER "'");
    cr_assert_eq(count(CONTINUE_NUMBERS), 0);
    postgres_do(server.url, STRANGE("gen_random_uuid()", "'2305843009213693951'", 1));
    cr_assert_gt(count(CONTINUE_NUMBERS), 0);
    postgres_do(server.url, ENTRY(ORG, "0 s", 3));
    seal(&sealing);
    cr_assert_not(seal_step_has_stopped(&sealing));
    cr_assert_eq(sealing.sealed, 1, "a foreign number is not a place");
}

Test(seal_foreign, goes_by_no_block_with_a_key_that_is_not_known)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
    postgres_do(server.url, "DROP INDEX audit.blocks_of_organization");
    postgres_do(server.url, STRANGE("organization_id", "'4611686018427387904'", 1));
    postgres_do(server.url, STRANGE("gen_random_uuid()", SETTLED, 1));
    postgres_do(server.url, STRANGE("'" OTHER "'", SETTLED, 1));
    seal(&sealing);
    cr_assert_not(seal_step_has_stopped(&sealing));
    cr_assert_eq(sealing.sealed, 2, "neither the place nor a head is moved");
    cr_assert_geq(sealing.foreign.n, 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" OTHER "'"
                       " AND number = 1002 AND entries = 1"),
                 1);
}

static void make_keys(const char *secret, const struct audit_keys *also, struct audit_keys *out)
{
    char hex[2 * SIGNING_PUBLIC_BYTES + 1] = "";

    if (also != NULL)
        hex_write(also->known[0].bytes, SIGNING_PUBLIC_BYTES, hex);
    cr_assert(audit_keys_read(secret, hex, out));
}

static void seal_with(struct seal_step *sealing, const struct audit_keys *with)
{
    sealing->keys = with;
    cr_assert_eq(seal_step_run(sealing, db, &arena), ST_OK, "%s", db_last_sqlstate(db));
    arena_clear(&arena);
}

Test(seal_foreign, leaves_sealing_to_replicas_that_have_the_key_of_the_newest_block)
{
    struct seal_step before = {0}, behind = {0}, ahead = {0};
    struct audit_keys new_one, both;

    make_keys("another key, which is long enough too", &keys, &new_one);
    make_keys(SECRET, &new_one, &both);
    postgres_do(server.url, ENTRY(ORG, "2 s", 1));
    seal_with(&before, &keys);
    postgres_do(server.url, ENTRY(ORG, "1 s", 2));
    seal_with(&ahead, &new_one);
    cr_assert_eq(ahead.sealed, 1, "it has the old key");
    postgres_do(server.url, ENTRY(ORG, "0 s", 3) ENTRY(OTHER, "0 s", 4));
    seal_with(&before, &keys);
    cr_assert(before.lacks_key);
    cr_assert_eq(before.sealed, 0);
    cr_assert_eq(before.foreign.unknown_number, 2);
    seal_with(&behind, &keys);
    cr_assert(behind.lacks_key, "after a start too");
    seal_with(&ahead, &both);
    cr_assert_eq(ahead.sealed, 2);
    /* `before` now has the key of the newest block, but not that of ORG's last block. */
    postgres_do(server.url, ENTRY(ORG, "0 s", 5));
    seal_with(&ahead, &new_one);
    postgres_do(server.url, ENTRY(OTHER, "0 s", 6));
    seal_with(&ahead, &both);
    postgres_do(server.url, ENTRY(ORG, "0 s", 7));
    seal_with(&before, &keys);
    cr_assert(before.lacks_key);
    cr_assert_eq(before.sealed, 0);
    seal_with(&before, &both);
    cr_assert_eq(before.sealed, 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks AS a JOIN audit.blocks AS b"
                       " USING (organization_id) WHERE b.number = a.number + 1"
                       " AND b.previous_hash = a.block_hash"),
                 5, "both chains are whole");
    signing_key_free(new_one.own);
    signing_key_free(both.own);
}

Test(seal_foreign, leaves_out_a_chain_whose_count_is_used_up)
{
    struct seal_step sealing = {0};
    char xid[32];

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    snprintf(xid, sizeof(xid), "%lld",
             (long long)count("SELECT last_xid::text::bigint FROM"
                              " audit.blocks"));
    sign_block_at(xid, BLOCK_NUMBER_MAX);
    sealing = (struct seal_step){0};
    postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(sealing.left_out, 1);
}

/* If a block's signature is right, all of the block must be read to see that it was altered. */
Test(seal_foreign, looks_back_over_thousands_of_altered_blocks_in_bounded_memory)
{
    struct seal_step sealing = {0};
    long before_kb, grown_kb;

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT gen_random_uuid(), audit.time_of(id), id,"
                " '" ORG "', 'ping', 200, 'allowed' FROM generate_series(1, 2000) AS n,"
                " test_id(interval '0 s', n) AS id");
    seal(&sealing);
    postgres_do(server.url, "UPDATE audit.blocks SET made_at = made_at - interval '1 ms'"
                            " WHERE organization_id <> '" ORG "';" ENTRY(ORG, "0 s", 2));
    before_kb = measure_peak_kb(getpid());
    sealing = (struct seal_step){0};
    seal(&sealing);
    grown_kb = measure_peak_kb(getpid()) - before_kb;
    fprintf(stderr, "%ld MB for %zu altered blocks\n", grown_kb >> 10, sealing.foreign.n);
    cr_assert_eq(sealing.foreign.n, 2000);
    cr_assert_gt(sealing.sealed, 2000);
    cr_assert_lt(grown_kb, limit_scaled(64 << 10));
}

/* The foreign block ends where one of ours must end: its entries are sealed again, in a block at
   the same place. */
Test(seal_foreign, seals_the_last_entry_of_a_foreign_block)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(OTHER, "0 s", 2));
    seal(&sealing);
    postgres_do(server.url, "UPDATE audit.blocks SET made_at = made_at - interval '1 ms' WHERE"
                            " organization_id = '" OTHER "';" ENTRY(ORG, "0 s", 3));
    sealing = (struct seal_step){0};
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 2);
}

/* The same without an altered row: the audit service's role need only append the block first. */
Test(seal_foreign, seals_an_entry_despite_a_foreign_block_for_it)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(OTHER, "0 s", 2));
    postgres_do(
        role_url,
        "INSERT INTO audit.blocks (organization_id, number, previous_hash, entries, last_xid,"
        " last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash, key_id,"
        " signature) SELECT organization_id, 1, sha256(''), 1, xid, request_id,"
        " pg_current_xact_id(), clock_timestamp(), ARRAY[request_id], sha256(''),"
        " sha256(''), 'x', sha512('') FROM audit.entries WHERE organization_id = '" OTHER "'");
    postgres_do(server.url, ENTRY(ORG, "0 s", 3));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 2);
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 0);
}

/* The blocks have false signatures, at the place up to which all transactions are settled. */
Test(seal_foreign, gets_past_thousands_of_foreign_blocks_in_a_step)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "0 s", 2));
    postgres_do(server.url,
                "INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, previous_hash, 1, " SETTLED
                ", last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash,"
                " key_id, sha512('') FROM audit.blocks, generate_series(1, 20000)");
    sealing = (struct seal_step){0};
    seal(&sealing);
    cr_assert_not(seal_step_has_stopped(&sealing));
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(sealing.foreign.n, 20000);
}

Test(seal_foreign, says_that_it_is_lost_among_foreign_blocks)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "0 s", 2));
    postgres_do(server.url,
                "INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, '', 1, " SETTLED ","
                " last_request_id, made_xid, made_at, request_ids, '', '', key_id, '' FROM"
                " audit.blocks, generate_series(1, 110000)");
    seal(&sealing);
    cr_assert(sealing.is_lost);
    cr_assert_eq(sealing.sealed, 0);
    postgres_do(server.url, "DELETE FROM audit.blocks WHERE signature = ''");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
}

Test(seal_foreign, is_not_delayed_by_a_foreign_block)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    /* One block after all transactions, in an empty chain; one after those settled now, in a chain
       with blocks. */
    postgres_do(server.url,
                "INSERT INTO audit.blocks SELECT '" OTHER "', 1, previous_hash, entries,"
                " '9000000000000000000', last_request_id, '0', '294276-12-31',"
                " request_ids, entry_hashes, block_hash, key_id, signature FROM"
                " audit.blocks");
    postgres_do(server.url, "INSERT INTO audit.blocks SELECT organization_id, 2, previous_hash,"
                            " 9223372036854775807, pg_snapshot_xmin(pg_current_snapshot())::text"
                            "::bigint::text::xid8, last_request_id, '0', 'infinity', ARRAY[NULL"
                            "::uuid], 'x', 'y', key_id, signature FROM audit.blocks WHERE"
                            " organization_id = '" ORG "'");
    postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
    seal(&sealing);
    cr_assert_not(sealing.is_adrift);
    cr_assert_eq(sealing.sealed, 2);
    cr_assert_eq(sealing.implausible + sealing.misdated, 0);
    cr_assert_geq(sealing.foreign.n, 2);
    /* Each new block follows the last genuine block of its chain. */
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks AS a JOIN audit.blocks AS b "
                       "USING (organization_id) WHERE a.number = 1 AND b.number = 3 "
                       "AND b.previous_hash = a.block_hash AND b.entries = 2"),
                 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" OTHER "'"
                       " AND number = 2 AND entries = 1"),
                 1);
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1, "nothing is sealed twice");
}

Test(seal_foreign, continues_whatever_has_happened_to_an_organizations_last_block)
{
    static const char *const losses[] = {
        "block_hash = substr(block_hash, 1, 5)",
        "block_hash = block_hash || 'x'",
        "signature = ''",
        "key_id = repeat('k', 100000)",
        "entries = -9223372036854775808",
        "request_ids = '{}'",
        "request_ids = ARRAY[ARRAY[last_request_id], ARRAY[last_request_id]]",
        "made_at = '-infinity'",
        "entry_hashes = NULL"};

    postgres_do(server.url, "ALTER TABLE audit.blocks ALTER COLUMN entry_hashes DROP NOT NULL");
    for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
        struct seal_step sealing = {0};

        postgres_do(server.url, "TRUNCATE audit.blocks, audit.entries");
        postgres_do(server.url, ENTRY(ORG, "1 s", 1));
        seal(&sealing);
        postgres_do(server.url, arena_printf(&arena, "UPDATE audit.blocks SET %s", losses[i]));
        sealing = (struct seal_step){0};
        postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
        seal(&sealing);
        cr_expect_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" OTHER "'"),
                     1, "%s", losses[i]);
        cr_expect_eq(
            count("SELECT count(*) FROM audit.blocks, unnest(request_ids) AS id WHERE number > 1"
                  " AND organization_id = '" ORG "' AND '2' = right(id::text, 1)"),
            1, "%s", losses[i]);
    }
}

Test(seal_foreign, leaves_out_a_chain_whose_numbers_are_used_up_and_seals_all_others)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, "UPDATE audit.blocks SET number = 9223372036854775807");
    postgres_do(server.url, ENTRY(ORG, "0 s", 2) ENTRY(OTHER, "0 s", 3));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(sealing.left_out, 1);
}
