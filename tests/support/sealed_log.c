#include "tests/support/sealed_log.h"

#include <criterion/criterion.h>

#include "tests/support/never_free.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sql.h"

enum { TIMEOUT_MS = 30000, VERIFIED_MS = 20000 };

static bool is_sealed(void *closure)
{
    const struct org *org = closure;

    return sql_integer(
               "SELECT (SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid)"
               " - (SELECT coalesce(max(entries), 0) FROM audit.blocks"
               " WHERE organization_id = $1::uuid)",
               org->id, NULL) == 0;
}

void sealed_log_await_seal(struct org *org)
{
    cr_assert(stack_wait(is_sealed, org, TIMEOUT_MS));
}

static bool is_verified(void *closure)
{
    const struct org *const org = closure;
    json_t *verified = convctl("audit", "verify", "--org", org->id, NULL);
    const bool is_done = json_integer_value(json_object_get(verified, "unsealed")) == 0;

    cr_expect(json_is_true(json_object_get(verified, "ok")), "%s", json_dumps(verified, 0));
    json_decref(verified);
    return is_done;
}

void sealed_log_await_verified(struct org *org)
{
    cr_expect(stack_wait(is_verified, org, VERIFIED_MS));
}

void sealed_log_make(struct sealed_log *sealed)
{
    org_new(&sealed->org);
    for (int lot = 0; lot < SEALED_LOG_LOTS; lot++) {
        for (int i = 0; i < SEALED_LOG_LOT; i++) {
            /* Alternates pings and pages that do not exist, so that entries differ. */
            struct client_response *response =
                api_get(sealed->org.full_key, i % 2 == 0 ? "/ping" : "/none");

            sealed->ids[lot * SEALED_LOG_LOT + i] = format("%s", response->request_id);
        }
        sealed_log_await_seal(&sealed->org);
    }
    cr_assert_geq(sql_integer("SELECT count(*) FROM audit.blocks WHERE organization_id = $1::uuid",
                              sealed->org.id, NULL),
                  SEALED_LOG_LOTS);
}

static const char *dumped(const json_t *value)
{
    return never_free(json_dumps(value, 0));
}

json_t *sealed_log_verify(const struct sealed_log *sealed)
{
    return never_free(convctl("audit", "verify", "--org", sealed->org.id, NULL));
}

long long sealed_log_integer(const json_t *in, const char *name)
{
    const json_t *value = json_object_get(in, name);

    cr_assert(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

void sealed_log_expect_sound(const struct sealed_log *sealed)
{
    json_t *reply = sealed_log_verify(sealed);

    cr_assert(json_is_true(json_object_get(reply, "ok")), "%s", dumped(reply));
    cr_assert(json_is_null(json_object_get(reply, "first")));
}

void sealed_log_expect_found(const struct sealed_log *sealed, const char *kind, const char *id)
{
    json_t *reply = sealed_log_verify(sealed), *first = json_object_get(reply, "first");
    const char *text = dumped(reply);

    cr_assert(json_is_false(json_object_get(reply, "ok")), "%s", text);
    cr_assert_str_eq(json_string_value(json_object_get(first, "kind")), kind, "%s", text);
    if (id != NULL)
        cr_assert_str_eq(json_string_value(json_object_get(first, "request_id")), id, "%s", text);
}

long long sealed_log_count(const struct sealed_log *sealed, const char *kind)
{
    const json_t *found =
        json_object_get(json_object_get(sealed_log_verify(sealed), "findings"), kind);

    return found != NULL ? sealed_log_integer(found, "count") : 0;
}

void sealed_log_tamper(const struct sealed_log *sealed, const char *statement, const char *id)
{
    cr_assert_not_null(sql_text(statement, sealed->org.id, id, NULL), "%s", statement);
}

void sealed_log_rewrite(const struct sealed_log *sealed, int from)
{
    postgres_do(
        stack_setting("DATABASE_URL"),
        format(
            "CREATE FUNCTION pg_temp.line(field text) RETURNS text LANGUAGE sql AS"
            " $$ SELECT coalesce('=' || field, '') || E'\\n' $$;"
            "CREATE FUNCTION pg_temp.hash(e audit.entries) RETURNS bytea LANGUAGE sql AS $$ SELECT"
            " sha256(convert_to(E'audit-entry-v1\\n' || pg_temp.line(e.organization_id::text) ||"
            " pg_temp.line(e.request_id::text) ||"
            " pg_temp.line(((extract(epoch FROM e.created_at) * 1000000)::bigint)::text) ||"
            " pg_temp.line(e.api_key_id::text) || pg_temp.line(e.operation) ||"
            " pg_temp.line(e.http_status::text) || pg_temp.line(e.outcome) ||"
            " pg_temp.line(e.denial_reason) || pg_temp.line(e.conversation_id::text) ||"
            " pg_temp.line(e.contact_id::text) || pg_temp.line(e.xid::text), 'UTF8')) $$;"
            "DO $$ DECLARE b audit.blocks; hashes bytea; contents bytea; previous bytea; BEGIN"
            " FOR b IN SELECT * FROM audit.blocks WHERE organization_id = '%s' AND number >= %d"
            " ORDER BY number LOOP"
            " SELECT string_agg(pg_temp.hash(e), '' ORDER BY i.place),"
            " string_agg(uuid_send(i.id) || pg_temp.hash(e), '' ORDER BY i.place)"
            " INTO hashes, contents FROM unnest(b.request_ids) WITH ORDINALITY AS i (id, place)"
            " JOIN audit.entries AS e ON e.organization_id = b.organization_id AND"
            " e.request_id = i.id;"
            " previous := coalesce((SELECT block_hash FROM audit.blocks WHERE organization_id ="
            " b.organization_id AND number = b.number - 1), decode(repeat('00', 32), 'hex'));"
            " UPDATE audit.blocks SET previous_hash = previous, entry_hashes = hashes, block_hash ="
            " sha256(convert_to(concat_ws(E'\\n', 'audit-block-v1', b.organization_id, b.number,"
            " encode(previous, 'hex'), b.entries, cardinality(b.request_ids), b.last_xid,"
            " b.last_request_id, b.made_xid,"
            " (extract(epoch FROM b.made_at) * 1000000)::bigint, encode(sha256(contents), 'hex'),"
            " b.key_id, ''), 'UTF8')) WHERE organization_id = b.organization_id AND"
            " number = b.number; END LOOP; END $$",
            sealed->org.id, from));
}
