#include <criterion/criterion.h>

#include "common/model/conversation_json.h"

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

TestSuite(conversation_json, .init = start, .fini = stop);

static void assert_written(const struct str values[CONVERSATION_COLUMNS], const char *json)
{
    conversation_write_values(&out, values);
    cr_assert_str_eq(arena_cstr(&arena, buf_str(&out)), json);
}

Test(conversation_json, writes_every_field_of_the_contract)
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
                   "\"status\":\"active\",\"custom_attributes\":{\"n\": 1.50},"
                   "\"message_count\":2,\"contact\":{\"type\":\"contact\",\"id\":\"k1\","
                   "\"external_id\":\"u1\",\"name\":\"Ann\",\"email\":\"ann@example.com\","
                   "\"phone\":\"+1\"},\"contacts\":{\"type\":\"contact.list\",\"contacts\":["
                   "{\"type\":\"contact\",\"id\":\"k1\",\"external_id\":\"u1\"}]}}");
}

Test(conversation_json, writes_null_for_what_is_absent_and_hides_what_is_not_of_the_channel)
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
