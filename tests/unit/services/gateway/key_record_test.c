#include "services/gateway/key_record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORG_A "01a1f97f-474a-73ab-af28-5392c02457f0"

#define KEY "01a1f97f-477b-7639-b538-176800431171"

static const char good[] =
    "{\"organization_id\":\"" ORG_A "\",\"api_key_id\":\"" KEY "\",\"scope\":\"full\","
    "\"expires_at\":null,\"plan_has_api\":true,\"require_https\":false,"
    "\"ip_allowlist_enabled\":true,\"ip_allowlist\":[\"1.2.3.4\",\"2001:db8::1\"],"
    "\"key_limit\":1667,\"organization_limit\":4167,\"cell\":\"second\"}";

/* `good` with one piece replaced. */
static bool reads_with(const char *piece, const char *other)
{
    char text[sizeof(good) + 100];
    const char *at = strstr(good, piece);
    struct key_record record = {0};
    bool reads;

    cr_assert_not_null(at, "%s", piece);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, other, at + strlen(piece));
    reads = key_record_read(str_of(text), &record);
    key_record_release(&record);
    return reads;
}

Test(key_record, is_read_from_the_reply_of_access)
{
    struct key_record record;
    struct address listed, other;

    cr_assert(key_record_read(str_of(good), &record));
    cr_expect_str_eq(record.organization_id, ORG_A);
    cr_expect_str_eq(record.api_key_id, KEY);
    cr_expect(record.may_write && record.plan_has_api && !record.require_https);
    cr_expect_eq(record.expires_at, INT64_MAX);
    cr_expect_eq(record.limits.key, 1667);
    cr_expect_eq(record.limits.organization, 4167);
    cr_expect_str_eq(record.cell, "second");
    cr_assert(address_parse(STR("::ffff:1.2.3.4"), &listed));
    cr_assert(address_parse(STR("1.2.3.5"), &other));
    cr_expect(key_record_lists(&record, &listed));
    cr_expect_not(key_record_lists(&record, &other));
    key_record_release(&record);
}

Test(key_record, may_have_an_end_and_an_empty_list)
{
    cr_expect(reads_with("null", "1795187230"));
    cr_expect(reads_with("[\"1.2.3.4\",\"2001:db8::1\"]", "[]"));
    cr_expect(reads_with("full", "read"));
}

Test(key_record, is_refused_when_anything_is_not_as_promised)
{
    cr_expect_not(reads_with(ORG_A, "x"));
    cr_expect_not(reads_with("api_key_id", "key_id"));
    cr_expect_not(reads_with("full", "admin"));
    cr_expect_not(reads_with("null", "\"never\""));
    cr_expect_not(reads_with("\"plan_has_api\":true", "\"plan_has_api\":1"));
    cr_expect_not(reads_with("1.2.3.4", "1.2.3.4/32"));
    cr_expect_not(reads_with("1667", "-1"));
    cr_expect_not(reads_with("4167", "99999999999"));
    cr_expect_not(reads_with("second", "sec.ond"));
    cr_expect_not(reads_with(",\"cell\":\"second\"", ""));
    cr_expect_not(reads_with("}", ""));
}

static bool reads_addresses(size_t n)
{
    static char list[(KEY_ADDRESSES_MAX + 1) * sizeof("\"1.2.3.4\",") + 2];
    static char text[sizeof(good) + sizeof(list)];
    const char *at = strstr(good, "[\"1.2.3.4");
    struct key_record record = {0};
    char *end = list;
    bool reads;

    for (size_t i = 0; i < n; i++)
        end += snprintf(end, sizeof("\"1.2.3.4\","), "%c\"1.2.3.4\"", i == 0 ? '[' : ',');
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, list, strchr(at, ']'));
    reads = key_record_read(str_of(text), &record);
    cr_assert_eq(record.n_addresses, reads ? n : 0);
    key_record_release(&record);
    return reads;
}

Test(key_record, has_a_bounded_number_of_addresses)
{
    cr_expect(reads_addresses(KEY_ADDRESSES_MAX));
    cr_expect_not(reads_addresses(KEY_ADDRESSES_MAX + 1));
}
