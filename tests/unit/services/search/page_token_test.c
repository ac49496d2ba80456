/* Cursors of a search: the rules that need no database. */
#include "services/search/search_query.h"

#include "tests/unit/services/search/query_fixture.h"

#define NOW_US  INT64_C(1800000000000000)
#define WEEK_US (INT64_C(7) * 24 * 3600 * 1000000)

static const char *const secrets[] = {
    "first-first-first-first-first-first",
    "second-second-second-second-second",
    "third-third-third-third-third-third",
};
static const struct page_token token = {
    .created_us = INT64_C(1700000000123456), .id = {.b = {1, 2, 3, 15}}, .page = 7};
static struct cursor_keys keys;
static char text[CURSOR_TEXT_MAX + 1];

static void use_keys(int first, int second)
{
    cr_assert(cursor_keys_read(secrets[first], second < 0 ? NULL : secrets[second], &keys));
}

static struct str binding(const char *body)
{
    const struct uuid organization = {.b = {1}};

    assert_reads(body);
    return search_query_binding(&query, &organization, &arena);
}

static void write_for(const char *body)
{
    page_token_write(&token, &keys, binding(body), NOW_US, text);
}

static bool reads_for(const char *body, int64_t now_us)
{
    struct page_token out;
    const bool is_good = page_token_read(str_of(text), &keys, binding(body), now_us, &out);

    if (is_good) {
        cr_assert_eq(out.created_us, token.created_us);
        cr_assert(uuid_equal(&out.id, &token.id));
        cr_assert_eq(out.page, token.page);
    }
    return is_good;
}

static void open_keys(void)
{
    open_arena();
    use_keys(0, -1);
}

TestSuite(page_token, .init = open_keys, .fini = close_arena);

Test(page_token, comes_back_as_it_was)
{
    write_for(ONLY(CONTACT));
    cr_assert(reads_for(ONLY(CONTACT), NOW_US));
}

Test(page_token, keeps_a_time_before_1970)
{
    const struct page_token old = {.created_us = -1, .page = 1};
    struct page_token out;

    page_token_write(&old, &keys, STR("x"), NOW_US, text);
    cr_assert(page_token_read(str_of(text), &keys, STR("x"), NOW_US, &out));
    cr_assert_eq(out.created_us, -1);
}

Test(page_token, carries_a_total_if_there_is_one)
{
    const struct page_token counted = {.page = 3, .has_total = true, .total = UINT64_C(5000000000)};
    struct page_token out;

    page_token_write(&counted, &keys, STR("x"), NOW_US, text);
    cr_assert(page_token_read(str_of(text), &keys, STR("x"), NOW_US, &out));
    cr_assert(out.has_total);
    cr_assert_eq(out.total, counted.total);
    page_token_write(&token, &keys, STR("x"), NOW_US, text);
    cr_assert(page_token_read(str_of(text), &keys, STR("x"), NOW_US, &out));
    cr_assert_not(out.has_total);
}

Test(page_token, expires_after_seven_days)
{
    write_for(ONLY(CONTACT));
    cr_assert(reads_for(ONLY(CONTACT), NOW_US + WEEK_US - 1000000));
    cr_assert_not(reads_for(ONLY(CONTACT), NOW_US + WEEK_US));
}

Test(page_token, is_of_no_other_search)
{
    write_for(ONLY(CONTACT));
    cr_assert(reads_for("{\"pagination\":{\"per_page\":50},\"query\":" CONTACT "}", NOW_US));
    cr_assert_not(reads_for("{\"pagination\":{\"per_page\":51},\"query\":" CONTACT "}", NOW_US));
    cr_assert_not(reads_for(WITH("state", "=", "\"open\""), NOW_US));
    cr_assert_not(reads_for(ONLY(FILTER("contact.external_id", "=", "\"v\"")), NOW_US));
}

Test(page_token, no_byte_of_it_can_be_altered)
{
    write_for(ONLY(CONTACT));
    for (size_t i = 0; text[i] != '\0'; i++) {
        const char was = text[i];

        text[i] = was == 'A' ? 'B' : 'A';
        cr_assert_not(reads_for(ONLY(CONTACT), NOW_US), "byte %zu", i);
        text[i] = was;
    }
    text[strlen(text) - 1] = '\0';
    cr_assert_not(reads_for(ONLY(CONTACT), NOW_US));
}

Test(page_token, outlives_a_change_of_keys)
{
    write_for(ONLY(CONTACT)); /* with the first key */
    use_keys(0, 1);           /* the second key is distributed ... */
    cr_assert(reads_for(ONLY(CONTACT), NOW_US));
    use_keys(1, 0); /* ... takes over ... */
    cr_assert(reads_for(ONLY(CONTACT), NOW_US));
    write_for(ONLY(CONTACT));
    use_keys(0, 1); /* ... not on every replica yet ... */
    cr_assert(reads_for(ONLY(CONTACT), NOW_US));
    use_keys(1, -1); /* ... and stays alone. */
    cr_assert(reads_for(ONLY(CONTACT), NOW_US));
    use_keys(2, 0);
    cr_assert_not(reads_for(ONLY(CONTACT), NOW_US));
}

Test(page_token, does_not_take_the_cursor_of_another_list)
{
    struct page_token out;

    cursor_make(&keys, STR("x"), STR("0123456789abcdef"), NOW_US, text);
    cr_assert_not(page_token_read(str_of(text), &keys, STR("x"), NOW_US, &out));
}
