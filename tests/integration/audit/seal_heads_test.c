/* Verifying against heads that were kept elsewhere finds a chain that was removed or rewritten,
   even one with valid signatures. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "common/base/ascii.h"
#include "common/crypto/signing.h"
#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(seal_heads, .init = stack_share);

/* The kind of the first finding when verifying with that head; NULL: no finding. */
static const char *kind_with(const struct sealed_log *sealed, const char *number, const char *hash)
{
    json_t *reply = never_free(convctl("audit", "verify", "--org", sealed->org.id, "--head-number",
                                       number, "--head-hash", hash, NULL));
    const char *kind = json_string_value(json_object_get(json_object_get(reply, "first"), "kind"));

    cr_assert_eq(json_is_true(json_object_get(reply, "ok")), kind == NULL);
    return kind;
}

static const char *hash_of(const struct sealed_log *sealed, const char *number)
{
    return sql_text("SELECT encode(block_hash, 'hex') FROM audit.blocks WHERE organization_id ="
                    " $1::uuid AND number = $2::bigint",
                    sealed->org.id, number, NULL);
}

static const char *newest(const struct sealed_log *sealed)
{
    return sql_text("SELECT max(number)::text FROM audit.blocks WHERE organization_id = $1::uuid",
                    sealed->org.id, NULL);
}

Test(seal_heads, compares_with_a_head_that_was_kept_elsewhere)
{
    struct sealed_log sealed;
    const char *number, *hash, *other;
    char code[64];

    sealed_log_make(&sealed);
    number = newest(&sealed);
    hash = hash_of(&sealed, number);
    other = format("%c%s", hash[0] == '0' ? '1' : '0', hash + 1);
    cr_assert_null(kind_with(&sealed, number, hash));
    cr_assert_null(kind_with(&sealed, "1", hash_of(&sealed, "1")));
    cr_assert_str_eq(kind_with(&sealed, number, other), "rewritten");
    cr_assert_str_eq(kind_with(&sealed, "1000000", hash), "removed");
    cr_assert_eq(
        convctl_fails(code, "audit", "verify", "--org", sealed.org.id, "--head-hash", hash, NULL),
        1);
    cr_assert_str_eq(code, "parameter_invalid");
    cr_assert_eq(convctl_fails(code, "audit", "verify", "--org", sealed.org.id, "--head-number",
                               "0", "--head-hash", hash, NULL),
                 1);
    cr_assert_str_eq(code, "parameter_invalid");
}

Test(seal_heads, reports_every_block_as_missing_if_there_is_a_head_and_no_chain)
{
    struct sealed_log sealed;
    const char *hash = format("%064d", 0);

    org_new(&sealed.org);
    cr_assert_str_eq(kind_with(&sealed, "1", hash), "removed");
}

/* As an attacker with the key: signs the blocks from that one on, deletes the published heads. */
static void sign(const struct sealed_log *sealed, int from)
{
    struct signing_key *key = signing_key_new(stack_setting_of("audit-0", "AUDIT_SIGNING_KEY"));
    int last = atoi(newest(sealed));

    cr_assert_not_null(key);
    for (int number = from; number <= last; number++) {
        const char *text =
            sql_text("SELECT concat_ws(E'\n', 'audit-head-v1', organization_id, number, entries,"
                     " encode(block_hash, 'hex'), '') FROM audit.blocks WHERE organization_id ="
                     " $1::uuid AND number = $2::bigint",
                     sealed->org.id, format("%d", number), NULL);
        uint8_t signature[SIGNING_SIGNATURE_BYTES];
        char hex[2 * SIGNING_SIGNATURE_BYTES + 1];

        signing_make(key, str_of(text), signature);
        hex_write(signature, sizeof(signature), hex);
        cr_assert_not_null(sql_text("UPDATE audit.blocks SET signature = decode($3, 'hex') WHERE"
                                    " organization_id = $1::uuid AND number = $2::bigint"
                                    " RETURNING 1",
                                    sealed->org.id, format("%d", number), hex, NULL));
    }
    signing_key_free(key);
    postgres_do(stack_setting("DATABASE_URL"),
                format("DELETE FROM audit.heads WHERE organization_id = '%s'", sealed->org.id));
}

/* As an attacker with the key: signs a retention note for everything older than `age`. Other tests
   on this shared stack take it for a real one. */
static void note_dropped(const char *age)
{
    struct signing_key *key = signing_key_new(stack_setting_of("audit-0", "AUDIT_SIGNING_KEY"));
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    char hex[2 * SIGNING_SIGNATURE_BYTES + 1];
    const char *id, *until, *text;

    cr_assert_not_null(key);
    id = signing_key_public(key)->id;
    until = sql_text("SELECT (now() - $1::interval)::text", age, NULL);
    text = sql_text("SELECT concat_ws(E'\n', 'audit-note-v1', audit.us($1::timestamptz), 0, 3,"
                    " audit.us($1::timestamptz), 'audit-0', $2::text, '')",
                    until, id, NULL);
    signing_make(key, str_of(text), signature);
    hex_write(signature, sizeof(signature), hex);
    cr_assert_not_null(sql_text("INSERT INTO audit.dropped (until, months, dropped_at, dropped_by,"
                                " key_id, signature) VALUES ($1::timestamptz, 3, $1::timestamptz,"
                                " 'audit-0', $2, decode($3, 'hex')) RETURNING 1",
                                until, id, hex, NULL));
    signing_key_free(key);
}

/* An attacker with the key removes the first block and backdates the next, as if by retention. */
Test(seal_heads, does_not_pass_a_head_from_before_a_front_that_was_taken)
{
    struct sealed_log sealed;
    const char *first, *last, *number;

    sealed_log_make(&sealed);
    number = newest(&sealed);
    first = hash_of(&sealed, "1");
    last = hash_of(&sealed, number);
    sealed_log_tamper(
        &sealed,
        "WITH block AS (DELETE FROM audit.blocks WHERE organization_id = $1::uuid AND"
        " number = 1 RETURNING request_ids), gone AS (DELETE FROM audit.entries USING block"
        " WHERE organization_id = $1::uuid AND request_id = ANY (request_ids) RETURNING 1),"
        " dated AS (UPDATE audit.blocks SET made_at = made_at - $2::interval WHERE"
        " organization_id = $1::uuid AND number = 2) SELECT count(*) FROM gone",
        "4 months");
    note_dropped("3 months 1 day");
    sealed_log_rewrite(&sealed, 2);
    sign(&sealed, 2);
    sealed_log_expect_sound(&sealed);
    cr_assert_str_eq(kind_with(&sealed, "1", first), "not_compared");
    cr_assert_str_eq(kind_with(&sealed, number, last), "rewritten");
    cr_assert_null(kind_with(&sealed, number, hash_of(&sealed, number)));
}
