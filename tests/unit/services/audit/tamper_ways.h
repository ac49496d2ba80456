/*
 * tamper_ways - every way in which the database's owner can tamper with an audit log without the
 * signing key, drawn at random. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_AUDIT_TAMPER_WAYS_H
#define TESTS_UNIT_SERVICES_AUDIT_TAMPER_WAYS_H

#include "common/base/str.h"
#include "tests/unit/services/audit/tamper_fixture.h"

static const char *const organizations[] = {ORG, OTHER};
static bool is_drawn[2], is_touched[2]; /* of these: by one way, by all ways of a draw */
static uint64_t state;                  /* of draw() */

/* -- chance ------------------------------------------------------------------------------------ */

/* xorshift64* */
static inline uint64_t draw(uint64_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * UINT64_C(2685821657736338717) >> 33) % below;
}

#define ONE_OF(list) ((list)[draw(ARRAY_SIZE(list))])

/* Notes belong to no organization: verifying either of the two reports them. */
static inline void draw_both(void)
{
    is_drawn[0] = is_drawn[1] = true;
}

static inline const char *organization(void)
{
    const uint64_t which = draw(2);

    is_drawn[which] = true;
    return organizations[which];
}

static inline uint64_t seed_of_run(void)
{
    const char *given = getenv("TAMPER_SEED");

    return given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_us();
}

static inline void seed_draw(uint64_t seed, int n)
{
    state = (seed + (uint64_t)n) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 8; i++)
        (void)draw(2);
}

/* -- ways to tamper ---------------------------------------------------------------------------- */

/* Runs a statement as the owner and returns the number of affected rows. */
static int64_t tamper(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int64_t tamper(const char *format, ...)
{
    va_list args;
    char *statement;

    va_start(args, format);
    statement = arena_vprintf(&arena, format, args);
    va_end(args);
    strncat(done, statement, sizeof(done) - strlen(done) - 1);
    strncat(done, "\n", sizeof(done) - strlen(done) - 1);
    return atoll(query(arena_printf(
        &arena, "WITH touched AS (%s RETURNING 1) SELECT count(*) FROM touched", statement)));
}

/* A condition that selects one entry as it was sealed. */
static inline const char *entry(const char *table)
{
    const char *of = organization();
    const unsigned lot = (unsigned)draw(LOTS), n = 1 + (unsigned)draw(LOT);
    const char *id =
        query(arena_printf(&arena,
                           "SELECT request_id FROM kept_entries WHERE organization_id = '%s' AND"
                           " right(request_id::text, 12) = '%012x'",
                           of, n + 100 * lot));

    cr_assert_not_null(id);
    return arena_printf(&arena, "%s.organization_id = '%s' AND %s.request_id = '%s'", table, of,
                        table, id);
}

static inline const char *block(void)
{
    return arena_printf(&arena, "organization_id = '%s' AND number = %u", organization(),
                        1 + (unsigned)draw(BLOCKS));
}

static inline const char *other_than(const char *organization)
{
    return arena_printf(&arena,
                        "CASE %s WHEN '" ORG "' THEN '" OTHER "'::uuid ELSE '" ORG "'::uuid END",
                        organization);
}

static inline int64_t alter_entry(void)
{
    static const char *const changes[] = {
        "api_key_id = gen_random_uuid()", "operation = 'conversation.get'", "operation = ''",
        "operation = repeat('long', 100000)", "http_status = 201", "http_status = -32768",
        "outcome = 'denied'", "denial_reason = 'insufficient_scope'", "denial_reason = ''",
        "conversation_id = gen_random_uuid()", "contact_id = gen_random_uuid()",
        "xid = (xid::text::bigint + 1)::text::xid8", "xid = '0'", "xid = '18446744073709551615'",
        "operation = E'ping\\n=200'",
        /* Several columns at once. */
        "http_status = 500, outcome = 'error', api_key_id = gen_random_uuid()"};

    return tamper("UPDATE audit.entries SET %s WHERE %s", ONE_OF(changes), entry("entries"));
}

static inline int64_t remove_entry(void)
{
    return tamper("DELETE FROM audit.entries WHERE %s", entry("entries"));
}

/* At any time, from any transaction. */
static inline int64_t add_entry(void)
{
    static const char *const ids[] = {"overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid",
                                      "gen_random_uuid()",
                                      "overlay(request_id::text PLACING '0190' FROM 1)::uuid",
                                      "overlay(request_id::text PLACING 'f' FROM 1)::uuid",
                                      "'00000000-0000-0000-0000-000000000000'::uuid",
                                      "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"};
    static const char *const times[] = {
        "audit.time_of(id)", "created_at",      "'infinity'", "'-infinity'",
        "'294276-12-31'",    "'4713-01-01 BC'", "now()"};
    static const char *const xids[] = {"xid", "'3'", "'9000000000000000000'"};

    return tamper("INSERT INTO audit.entries SELECT organization_id, %s, id, api_key_id, operation,"
                  " 201, outcome, denial_reason, conversation_id, contact_id, %s FROM kept_entries,"
                  " LATERAL (SELECT %s AS id) AS made WHERE %s",
                  ONE_OF(times), ONE_OF(xids), ONE_OF(ids), entry("kept_entries"));
}

/* With the id of a sealed entry, at the same time or another. */
static inline int64_t add_known_entry(void)
{
    static const char *const times[] = {"created_at",
                                        "created_at - interval '1 hour'",
                                        "created_at + interval '1 microsecond'",
                                        "created_at + interval '1 year'",
                                        "'infinity'",
                                        "'-infinity'",
                                        "'294276-12-31'"};
    static const char *const xids[] = {"xid", "'3'", "(xid::text::bigint + 1)::text::xid8"};

    return tamper("INSERT INTO audit.entries SELECT organization_id, %s, request_id, api_key_id,"
                  " operation, %s, outcome, denial_reason, conversation_id, contact_id, %s FROM"
                  " kept_entries WHERE %s",
                  ONE_OF(times), draw(2) ? "http_status" : "403", ONE_OF(xids),
                  entry("kept_entries"));
}

static inline int64_t move_in_time(void)
{
    static const char *const times[] = {"created_at - interval '1 hour'",
                                        "created_at + interval '1 microsecond'",
                                        "created_at + interval '1 ms'",
                                        "created_at - interval '5 years'",
                                        "'infinity'",
                                        "'-infinity'",
                                        "'294276-12-31'"};

    return tamper("UPDATE audit.entries SET created_at = %s WHERE %s", ONE_OF(times),
                  entry("entries"));
}

static inline int64_t rename_entry(void)
{
    return tamper("UPDATE audit.entries SET request_id = %s WHERE %s",
                  draw(2) ? "gen_random_uuid()"
                          : "overlay(request_id::text PLACING 'abcdef' FROM 31)::uuid",
                  entry("entries"));
}

static inline int64_t move_to_another_organization(void)
{
    return tamper("UPDATE audit.entries SET organization_id = %s WHERE %s",
                  other_than("organization_id"), entry("entries"));
}

/* Swaps two entries, with their ids or without. Their transactions or ids differ at least. */
static inline int64_t swap_entries(void)
{
    const char *one = entry("kept_entries"), *two = entry("kept_entries");

    if (strcmp(one, two) == 0)
        return 0;
    return tamper(
        "UPDATE audit.entries SET (organization_id, created_at, request_id, xid, http_status) ="
        " (SELECT other.organization_id, other.created_at, %s, other.xid, 202 FROM kept_entries AS"
        " other WHERE NOT (other.organization_id = entries.organization_id AND other.request_id ="
        " entries.request_id) AND (SELECT count(*) FROM kept_entries WHERE ((%s) OR (%s)) AND"
        " kept_entries.organization_id = other.organization_id AND kept_entries.request_id ="
        " other.request_id) = 1) WHERE (organization_id, request_id) IN (SELECT organization_id,"
        " request_id FROM kept_entries WHERE (%s) OR (%s))",
        draw(2) ? "other.request_id" : "entries.request_id", one, two, one, two);
}

static inline int64_t remove_block_with_entries(void)
{
    const char *of = block();

    return tamper("DELETE FROM audit.blocks WHERE %s", of) +
           tamper("DELETE FROM audit.entries WHERE (organization_id, request_id) IN (SELECT"
                  " organization_id, unnest(request_ids) FROM kept_blocks WHERE %s)",
                  of);
}

static inline int64_t remove_front_with_note(void)
{
    const char *of = arena_printf(&arena, "organization_id = '%s' AND number <= %u", organization(),
                                  1 + (unsigned)draw(BLOCKS - 1));

    return tamper("DELETE FROM audit.blocks WHERE %s", of) +
           tamper("DELETE FROM audit.entries WHERE (organization_id, request_id) IN (SELECT"
                  " organization_id, unnest(request_ids) FROM kept_blocks WHERE %s)",
                  of) +
           tamper("INSERT INTO audit.dropped (until) SELECT now() - interval '%s' ON CONFLICT DO"
                  " NOTHING",
                  draw(2) ? "0 s" : "3 months 2 days");
}

static inline int64_t alter_block(void)
{
    static const char *const changes[] = {
        "previous_hash = sha256('')",
        "block_hash = sha256('')",
        "block_hash = substr(block_hash, 1, 5)",
        "entries = entries + 1",
        "entries = 9223372036854775807",
        "entries = -9223372036854775808",
        "last_xid = '9000000000000000000'",
        "last_xid = '3'",
        "last_request_id = request_ids[1]",
        "made_xid = '1'",
        "made_at = made_at - interval '1 year'",
        "made_at = 'infinity'",
        "made_at = '294276-12-31'",
        "request_ids = request_ids[2:]",
        "request_ids = '{}'",
        "request_ids = request_ids || gen_random_uuid()",
        "request_ids[1] = NULL",
        "request_ids = ARRAY[request_ids, request_ids]",
        "entry_hashes = sha256('')",
        "entry_hashes = entry_hashes || sha256('')",
        "key_id = 'another'",
        "key_id = ''",
        "signature = signature || 'x'",
        "signature = sha512('')",
        "implausible = '{1}'",
        "implausible = '{1}', implausible_times = ARRAY[now()]",
        "implausible = '{2,1,0,-1}', implausible_times = '{infinity,NULL}'",
        "implausible = '{{1}}', implausible_times = ARRAY[now()]",
        "implausible = '{{1},{2}}', implausible_times = ARRAY[ARRAY[now()], ARRAY[now()]]",
        "implausible = array_fill(1, ARRAY[1001]), implausible_times = array_fill(now(),"
        " ARRAY[1001])",
        "request_ids = ARRAY[request_ids]",
        "number = number + 100",
        "number = -number",
        "number = 9223372036854775807",
        "number = 0"};
    const char *change = ONE_OF(changes);

    /* Skips blocks with one entry, which some of the changes leave as they are. */
    return tamper("UPDATE audit.blocks SET %s WHERE %s AND last_request_id <> request_ids[1]",
                  change, block());
}

static inline int64_t move_block_to_another_organization(void)
{
    return tamper("UPDATE audit.blocks SET organization_id = %s WHERE %s",
                  other_than("organization_id"), block());
}

static inline int64_t add_block(void)
{
    static const char *const numbers[] = {"number", "-number",    "0",
                                          "8",      "number + 1", "9223372036854775807"};

    return tamper("INSERT INTO audit.blocks SELECT organization_id, %s, previous_hash, entries,"
                  " last_xid, last_request_id, made_xid, made_at, request_ids, entry_hashes,"
                  " block_hash, key_id, signature, implausible, implausible_times FROM kept_blocks"
                  " WHERE %s",
                  ONE_OF(numbers), block());
}

/* An entry, and a block that lists it and covers its place before the block that should. */
static inline int64_t add_entry_with_block(void)
{
    static const char *const numbers[] = {"8", "-1", "0", "number", "9007199254740993"};
    const char *of = entry("kept_entries"), *number = ONE_OF(numbers);
    const char *id = "overlay(kept_entries.request_id::text PLACING 'abcdef' FROM 31)::uuid";

    return tamper(
               "INSERT INTO audit.entries SELECT organization_id, audit.time_of(%s), %s,"
               " api_key_id, operation, 201, outcome, denial_reason, conversation_id, contact_id,"
               " xid FROM kept_entries WHERE %s",
               id, id, of) +
           tamper("INSERT INTO audit.blocks SELECT kept_entries.organization_id, %s, previous_hash,"
                  " entries, kept_entries.xid, %s, made_xid, made_at, ARRAY[%s], sha256(''),"
                  " block_hash, key_id, signature FROM kept_entries JOIN kept_blocks ON"
                  " kept_entries.organization_id = kept_blocks.organization_id AND"
                  " kept_entries.request_id = ANY (request_ids) WHERE %s",
                  number, id, id, of);
}

/* As an attacker would who has read docs/audit.md but lacks the key. */
static inline int64_t rewrite_block_with_entry(void)
{
    const char *of = entry("entries");

    return tamper("UPDATE audit.entries SET http_status = 403, outcome = 'denied' WHERE %s", of) +
           tamper("UPDATE audit.blocks SET entry_hashes = sha256('') || substr(entry_hashes, 33),"
                  " block_hash = sha256(entry_hashes), signature = sha512('') WHERE (SELECT"
                  " organization_id = blocks.organization_id AND request_id = ANY"
                  " (blocks.request_ids) FROM audit.entries WHERE %s LIMIT 1)",
                  of);
}

/* An entry between the last block of its chain and the place up to which everything is sealed,
   which is the end of the other organization's chain. That end is altered, or forged blocks follow
   it. */
static inline int64_t add_entry_below_foreign_top(void)
{
    const char *id = "overlay(request_id::text PLACING '0190' FROM 1)::uuid";

    is_drawn[0] = true;
    if (draw(2))
        (void)tamper(
            "UPDATE audit.blocks SET signature = sha512('') WHERE organization_id = '" OTHER
            "' AND number = (SELECT max(number) FROM kept_blocks WHERE organization_id = '" OTHER
            "')");
    else
        (void)tamper("INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, previous_hash, 1,"
                     " (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1)::text::xid8,"
                     " last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash,"
                     " %s, sha512('') FROM (SELECT * FROM kept_blocks LIMIT 1) AS block,"
                     " generate_series(1, %u)",
                     draw(2) ? "key_id" : "'x'", draw(2) ? 1 : 700);
    return tamper(
        "INSERT INTO audit.entries SELECT organization_id, audit.time_of(%s), %s,"
        " api_key_id, operation, 201, outcome, denial_reason, conversation_id, contact_id,"
        " (xid::text::bigint + 1)::text::xid8 FROM (SELECT * FROM kept_entries WHERE "
        "organization_id = '" ORG "' ORDER BY"
        " xid DESC, request_id DESC LIMIT 1) AS last",
        id, id);
}

/* Covers as much as retention has dropped, or more. */
static inline int64_t forge_note(void)
{
    static const char *const untils[] = {"until + interval '1 month'",
                                         "until + interval '1 day'",
                                         "now() - interval '3 months 2 days'",
                                         "now()",
                                         "now() + interval '1 year'",
                                         "'infinity'",
                                         "'-infinity'",
                                         "'294276-12-31'"};
    static const char *const signatures[] = {"signature", "sha512('')", "signature || 'x'", "NULL"};

    draw_both();
    return tamper("INSERT INTO audit.dropped (until, since, months, dropped_at, dropped_by, key_id,"
                  " signature) SELECT %s, %s, months, now(), dropped_by, %s, %s FROM kept_dropped"
                  " ORDER BY until DESC LIMIT 1",
                  ONE_OF(untils), draw(2) ? "until" : "NULL", draw(2) ? "key_id" : "'another'",
                  ONE_OF(signatures));
}

static inline int64_t alter_note(void)
{
    static const char *const changes[] = {"until = until + interval '1 month'",
                                          "until = until - interval '1 month'",
                                          "until = 'infinity'",
                                          "since = coalesce(since, until) - interval '1 month'",
                                          "since = until",
                                          "since = '-infinity'",
                                          "months = months + 1",
                                          "months = NULL",
                                          "dropped_at = dropped_at - interval '1 day'",
                                          "dropped_by = 'audit-1'",
                                          "dropped_by = NULL",
                                          "dropped_by = repeat('long', 100000)",
                                          "key_id = 'another'",
                                          "key_id = NULL",
                                          "signature = NULL",
                                          "signature = sha512('')",
                                          "signature = substr(signature, 1, 5)",
                                          "since = NULL, months = NULL, dropped_by = NULL, key_id ="
                                          " NULL, signature = NULL"};

    draw_both();
    return tamper("UPDATE audit.dropped SET %s WHERE until = (SELECT until FROM kept_dropped ORDER"
                  " BY until OFFSET %u LIMIT 1)",
                  ONE_OF(changes), (unsigned)draw(2));
}

static inline int64_t remove_note(void)
{
    draw_both();
    return tamper("DELETE FROM audit.dropped WHERE until = (SELECT until FROM kept_dropped ORDER BY"
                  " until OFFSET %u LIMIT 1)",
                  (unsigned)draw(2));
}

static int64_t (*const ways[])(void) = {
    alter_entry,
    remove_entry,
    add_entry,
    add_known_entry,
    move_in_time,
    rename_entry,
    move_to_another_organization,
    swap_entries,
    remove_block_with_entries,
    remove_front_with_note,
    forge_note,
    alter_note,
    remove_note,
    alter_block,
    move_block_to_another_organization,
    add_block,
    add_entry_with_block,
    rewrite_block_with_entry,
    add_entry_below_foreign_top,
};

static inline int64_t change(size_t way)
{
    int64_t touched;

    memset(is_drawn, 0, sizeof(is_drawn));
    touched = ways[way]();
    for (int i = 0; i < 2 && touched > 0; i++)
        is_touched[i] |= is_drawn[i];
    return touched;
}

#endif
