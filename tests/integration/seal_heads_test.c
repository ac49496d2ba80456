/* Heads that were kept elsewhere: the trail is held against them, and does not pass without them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "common/crypto/crypto.h"
#include "common/crypto/signing.h"
#include "tests/support/keep.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"
#include "tests/support/trail.h"

TestSuite(seal_heads, .init = api_open, .timeout = 120);

/* What verifying finds with that head; NULL: nothing. */
static const char *kind_with(const struct trail *trail, const char *number, const char *hash)
{
    json_t *said = keep(convctl("audit", "verify", "--org", trail->org.id, "--head-number", number,
                                "--head-hash", hash, NULL));
    const char *kind = json_string_value(json_object_get(json_object_get(said, "first"), "kind"));

    cr_assert_eq(json_is_true(json_object_get(said, "ok")), kind == NULL);
    return kind;
}

static const char *hash_of(const struct trail *trail, const char *number)
{
    return sql_text("SELECT encode(block_hash, 'hex') FROM audit.blocks WHERE organization_id ="
                    " $1::uuid AND number = $2::bigint",
                    trail->org.id, number, NULL);
}

static const char *newest(const struct trail *trail)
{
    return sql_text("SELECT max(number)::text FROM audit.blocks WHERE organization_id = $1::uuid",
                    trail->org.id, NULL);
}

Test(seal_heads, compares_with_a_head_that_was_kept_elsewhere)
{
    struct trail trail;
    const char *number, *hash, *other;
    char code[64];

    trail_make(&trail);
    number = newest(&trail);
    hash = hash_of(&trail, number);
    other = format("%c%s", hash[0] == '0' ? '1' : '0', hash + 1);
    cr_assert_null(kind_with(&trail, number, hash));
    cr_assert_null(kind_with(&trail, "1", hash_of(&trail, "1")));
    cr_assert_str_eq(kind_with(&trail, number, other), "rewritten");
    cr_assert_str_eq(kind_with(&trail, "1000000", hash), "removed");
    cr_assert_eq(
        convctl_fails(code, "audit", "verify", "--org", trail.org.id, "--head-hash", hash, NULL),
        1);
    cr_assert_str_eq(code, "parameter_invalid");
    cr_assert_eq(convctl_fails(code, "audit", "verify", "--org", trail.org.id, "--head-number", "0",
                               "--head-hash", hash, NULL),
                 1);
    cr_assert_str_eq(code, "parameter_invalid");
}

Test(seal_heads, misses_every_block_where_a_head_was_kept_and_there_is_no_chain)
{
    struct trail trail;
    const char *hash = format("%064d", 0);

    org_new(&trail.org);
    cr_assert_str_eq(kind_with(&trail, "1", hash), "removed");
}

/* As who has the key does: signs the blocks from there on, and forgets what was published. */
static void sign(const struct trail *trail, int from)
{
    struct signing_key *key = signing_key_new(stack_setting_of("audit-0", "AUDIT_SIGNING_KEY"));
    int last = atoi(newest(trail));

    cr_assert_not_null(key);
    for (int number = from; number <= last; number++) {
        const char *text =
            sql_text("SELECT concat_ws(E'\n', 'audit-head-v1', organization_id, number, entries,"
                     " encode(block_hash, 'hex'), '') FROM audit.blocks WHERE organization_id ="
                     " $1::uuid AND number = $2::bigint",
                     trail->org.id, format("%d", number), NULL);
        uint8_t signature[SIGNING_SIGNATURE_BYTES];
        char hex[2 * SIGNING_SIGNATURE_BYTES + 1];

        signing_make(key, str_of(text), signature);
        crypto_hex(signature, sizeof(signature), hex);
        cr_assert_not_null(sql_text("UPDATE audit.blocks SET signature = decode($3, 'hex') WHERE"
                                    " organization_id = $1::uuid AND number = $2::bigint"
                                    " RETURNING 1",
                                    trail->org.id, format("%d", number), hex, NULL));
    }
    signing_key_free(key);
    postgres_do(stack_setting("DATABASE_URL"),
                format("DELETE FROM audit.heads WHERE organization_id = '%s'", trail->org.id));
}

/* By somebody who also has the key, and dates the rest back until retention could have done it. */
Test(seal_heads, does_not_pass_a_head_from_before_a_front_that_was_taken)
{
    struct trail trail;
    const char *first, *last, *number;

    trail_make(&trail);
    number = newest(&trail);
    first = hash_of(&trail, "1");
    last = hash_of(&trail, number);
    trail_tamper(
        &trail,
        "WITH note AS (INSERT INTO audit.dropped (until) VALUES (now() - $2::interval)),"
        " block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid AND"
        " number = 1 RETURNING request_ids), gone AS (DELETE FROM audit.entries USING block"
        " WHERE organization_id = $1::uuid AND request_id = ANY (request_ids) RETURNING 1),"
        " dated AS (UPDATE audit.blocks SET made_at = made_at - interval '4 months' WHERE"
        " organization_id = $1::uuid AND number = 2) SELECT count(*) FROM gone",
        "3 months 1 day");
    trail_rewrite(&trail, 2);
    sign(&trail, 2);
    trail_expect_sound(&trail);
    cr_assert_str_eq(kind_with(&trail, "1", first), "not_compared");
    cr_assert_str_eq(kind_with(&trail, number, last), "rewritten");
    cr_assert_null(kind_with(&trail, number, hash_of(&trail, number)));
}
