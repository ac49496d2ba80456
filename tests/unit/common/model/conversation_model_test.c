#include <criterion/criterion.h>
#include <string.h>

#include "common/model/conversation_model.h"

static bool is_settable(const char *status)
{
    for (size_t i = 0; conversation_status_names[i] != NULL; i++)
        if (strcmp(conversation_status_names[i], status) == 0)
            return true;
    return false;
}

Test(conversation_model, status_can_be_stored_as_all_that_can_be_set_and_as_the_legacy_one)
{
    size_t n_settable = 0;

    while (conversation_status_names[n_settable] != NULL)
        n_settable++;
    cr_assert_eq(n_settable + 1, CONVERSATION_STORED_STATUSES);
    for (size_t i = 0; i < CONVERSATION_STORED_STATUSES; i++)
        cr_assert_eq(is_settable(conversation_stored_statuses[i]),
                     strcmp(conversation_stored_statuses[i], "closed") != 0);
}

Test(conversation_model, status_is_shown_as_one_that_can_be_set)
{
    for (size_t i = 0; i < CONVERSATION_STORED_STATUSES; i++) {
        struct str stored = str_of(conversation_stored_statuses[i]);

        cr_assert(is_settable(conversation_status_shown(stored).p));
        if (is_settable(stored.p))
            cr_assert(str_equal(conversation_status_shown(stored), stored));
    }
    cr_assert(str_equal(conversation_status_shown(STR("closed")), STR("resolved")));
}

Test(conversation_model, status_belongs_to_the_open_state_or_the_closed_one)
{
    static const struct {
        const char *status, *state;
    } expected[] = {
        {"active", "open"},     {"waiting", "open"},    {"human_takeover", "open"},
        {"resolved", "closed"}, {"archived", "closed"}, {"closed", "closed"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        struct str status = str_of(expected[i].status), state = str_of(expected[i].state);

        cr_assert(str_equal(conversation_state(status), state), "%s", status.p);
        cr_assert_eq(conversation_status_is_open(status), str_equal(state, STR("open")));
    }
    cr_assert_str_eq(conversation_state_names[0], "open");
    cr_assert_str_eq(conversation_state_names[1], "closed");
    cr_assert_null(conversation_state_names[2]);
}

Test(conversation_model, attribute_key_begins_with_a_letter_and_has_letters_digits_and_three_signs)
{
    static const char *const good[] = {"a",   "Z",   "plan",    "a1",         "a_b",       "a-b",
                                       "a.b", "a..", "service", "services_a", "a_service_"};
    static const char *const bad[] = {"",    "1a",  "_a",  "-a",        ".a",  " a",
                                      "a b", "a/b", "a$b", "a\xc3\xa4", "a[0]"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        cr_assert_null(attribute_key_error(str_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_str_eq(
            attribute_key_error(str_of(bad[i])),
            "must begin with a letter and consist of letters, digits, '_', '-' and '.'", "%s",
            bad[i]);
    cr_assert_not_null(attribute_key_error(STR_NONE));
    cr_assert_not_null(attribute_key_error(STR("a\0b")));
}

Test(conversation_model, attribute_key_has_at_most_64_characters)
{
    char key[ATTRIBUTE_KEY_MAX + 1];

    memset(key, 'a', sizeof(key));
    cr_assert_null(attribute_key_error((struct str){key, ATTRIBUTE_KEY_MAX}));
    cr_assert_str_eq(attribute_key_error((struct str){key, ATTRIBUTE_KEY_MAX + 1}),
                     "must be a key of at most 64 characters");
}

Test(conversation_model, attribute_key_does_not_begin_with_the_reserved_prefix)
{
    static const char *const bad[] = {"service_", "service_tier", "Service_x", "SERVICE_X"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_str_eq(attribute_key_error(str_of(bad[i])),
                         "must not use the reserved prefix service_", "%s", bad[i]);
}

static struct arena arena;
static struct buf out;

static void start(void)
{
    arena_init(&arena, 1 << 20);
    buf_init(&out, &arena, 16);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(conversation_model, .init = start, .fini = stop);

static void assert_written(const struct str values[CONVERSATION_COLUMNS], const char *json)
{
    conversation_write_values(&out, values);
    cr_assert_str_eq(arena_cstr(&arena, buf_str(&out)), json);
}

Test(conversation_model, json_writes_every_field_of_the_contract)
{
    const struct str values[CONVERSATION_COLUMNS] = {
        [CONVERSATION_ID] = STR("c1"),
        [CONVERSATION_EXTERNAL_ID] = STR("order \"7\""),
        [CONVERSATION_CREATED_AT] = STR("1700000000"),
        [CONVERSATION_UPDATED_AT] = STR("1700000001"),
        [CONVERSATION_LAST_MESSAGE_AT] = STR("1700000002"),
        [CONVERSATION_CHANNEL] = STR("api"),
        [CONVERSATION_STATUS] = STR("active"),
        [CONVERSATION_CUSTOM_ATTRIBUTES] = STR("{\"n\": 1.50}"),
        [CONVERSATION_MESSAGE_COUNT] = STR("2"),
        [CONVERSATION_CONTACT_ID] = STR("k1"),
        [CONVERSATION_CONTACT_EXTERNAL_ID] = STR("u1"),
        [CONVERSATION_CONTACT_NAME] = STR("Ann"),
        [CONVERSATION_CONTACT_EMAIL] = STR("ann@example.com"),
        [CONVERSATION_CONTACT_PHONE] = STR("+1"),
    };

    assert_written(values,
                   "{\"type\":\"conversation\",\"id\":\"c1\",\"external_id\":\"order \\\"7\\\"\","
                   "\"created_at\":1700000000,\"updated_at\":1700000001,"
                   "\"last_message_at\":1700000002,\"channel\":\"api\","
                   "\"source\":{\"type\":\"api\"},\"state\":\"open\",\"open\":true,"
                   "\"status\":\"active\",\"custom_attributes\":{\"n\":1.50},"
                   "\"message_count\":2,\"contact\":{\"type\":\"contact\",\"id\":\"k1\","
                   "\"external_id\":\"u1\",\"name\":\"Ann\",\"email\":\"ann@example.com\","
                   "\"phone\":\"+1\"},\"contacts\":{\"type\":\"contact.list\",\"contacts\":["
                   "{\"type\":\"contact\",\"id\":\"k1\",\"external_id\":\"u1\"}]}}");
}

Test(conversation_model, json_writes_null_for_absent_values_and_hides_those_of_other_channels)
{
    const struct str values[CONVERSATION_COLUMNS] = {
        [CONVERSATION_ID] = STR("c1"),
        [CONVERSATION_EXTERNAL_ID] = STR("hidden"),
        [CONVERSATION_CREATED_AT] = STR("1"),
        [CONVERSATION_UPDATED_AT] = STR("1"),
        [CONVERSATION_CHANNEL] = STR("widget"),
        [CONVERSATION_STATUS] = STR("closed"),
        [CONVERSATION_CUSTOM_ATTRIBUTES] = STR("{}"),
        [CONVERSATION_MESSAGE_COUNT] = STR("0"),
        [CONVERSATION_CONTACT_NAME] = STR("nobody's"),
    };

    assert_written(values, "{\"type\":\"conversation\",\"id\":\"c1\",\"external_id\":null,"
                           "\"created_at\":1,\"updated_at\":1,\"last_message_at\":null,"
                           "\"channel\":\"widget\",\"source\":{\"type\":\"widget\"},"
                           "\"state\":\"closed\",\"open\":false,\"status\":\"resolved\","
                           "\"custom_attributes\":{},\"message_count\":0,\"contact\":null,"
                           "\"contacts\":{\"type\":\"contact.list\",\"contacts\":[]}}");
}
