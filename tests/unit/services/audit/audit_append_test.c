#include "services/audit/audit.h"

#include <criterion/criterion.h>

#include "proto/headers.h"

static const struct caller caller = {
    .request_id = {.b = {1}}, .organization_id = {.b = {2}}, .api_key_id = {.b = {3}}};

static const char *read_of(const char *operation, const char *status, const char *code,
                           const char *resource, struct audit_log_entry *out)
{
    const struct audit_append_fields fields = {
        .operation = str_of(operation),
        .http_status = str_of(status),
        .code = str_of(code),
        .resource_id = str_of(resource),
    };

    return audit_append_read(&caller, &fields, out);
}

Test(audit_append, takes_what_the_gateway_answered)
{
    struct audit_log_entry entry;

    cr_assert_null(read_of("conversation.get", "406", "not_acceptable",
                           "01890000-0000-7000-8000-000000000001", &entry));
    cr_assert_eq(entry.operation, OP_CONVERSATION_GET);
    cr_assert_eq(entry.http_status, 406);
    cr_assert_str_eq(entry.error_code, "not_acceptable");
    cr_assert(uuid_equal(&entry.request_id, &caller.request_id));
    cr_assert(uuid_equal(&entry.organization_id, &caller.organization_id));
    cr_assert(uuid_equal(&entry.api_key_id, &caller.api_key_id));
    cr_assert_eq(entry.conversation_id.b[0], 0x01);
    cr_assert_eq(entry.conversation_id.b[15], 0x01);
    cr_assert(uuid_is_nil(&entry.contact_id));
}

Test(audit_append, a_success_has_no_code_and_everything_else_has_one)
{
    struct audit_log_entry entry;

    cr_assert_null(read_of("ping", "200", NULL, NULL, &entry));
    cr_assert_null(entry.error_code);
    cr_assert(uuid_is_nil(&entry.conversation_id));
    cr_assert_str_eq(read_of("ping", "200", "not_found", NULL, &entry), HEADER_CODE);
    cr_assert_str_eq(read_of("ping", "429", NULL, NULL, &entry), HEADER_CODE);
    cr_assert_str_eq(read_of("ping", "429", "made_up", NULL, &entry), HEADER_CODE);
}

Test(audit_append, names_the_header_that_is_missing_or_malformed)
{
    struct audit_log_entry entry;

    cr_assert_str_eq(read_of(NULL, "200", NULL, NULL, &entry), HEADER_OPERATION);
    cr_assert_str_eq(read_of("", "200", NULL, NULL, &entry), HEADER_OPERATION);
    cr_assert_str_eq(read_of("pong", "200", NULL, NULL, &entry), HEADER_OPERATION);
    cr_assert_str_eq(read_of("ping", NULL, NULL, NULL, &entry), HEADER_STATUS);
    cr_assert_str_eq(read_of("ping", "20", NULL, NULL, &entry), HEADER_STATUS);
    cr_assert_str_eq(read_of("ping", "600", NULL, NULL, &entry), HEADER_STATUS);
    cr_assert_str_eq(read_of("ping", "2xx", NULL, NULL, &entry), HEADER_STATUS);
    cr_assert_str_eq(read_of("ping", "200", NULL, "abc", &entry), HEADER_RESOURCE);
}

Test(audit_append, names_the_contact_that_a_service_has_found)
{
    struct audit_append_fields fields = {.operation = STR("conversation.search"),
                                         .http_status = STR("200"),
                                         .contact_id = STR("01890000-0000-7000-8000-000000000002")};
    struct audit_log_entry entry;

    cr_assert_null(audit_append_read(&caller, &fields, &entry));
    cr_assert_eq(entry.contact_id.b[15], 0x02);
    fields.contact_id = STR("somebody");
    cr_assert_str_eq(audit_append_read(&caller, &fields, &entry), HEADER_CONTACT);
}

Test(audit_append, needs_the_ids_of_request_organization_and_key)
{
    const struct audit_append_fields fields = {.operation = STR("ping"), .http_status = STR("200")};
    struct audit_log_entry entry;
    struct caller who;

    who = caller;
    who.request_id = (struct uuid){0};
    cr_assert_str_eq(audit_append_read(&who, &fields, &entry), HEADER_REQUEST_ID);
    who = caller;
    who.organization_id = (struct uuid){0};
    cr_assert_str_eq(audit_append_read(&who, &fields, &entry), HEADER_ORGANIZATION);
    who = caller;
    who.api_key_id = (struct uuid){0};
    cr_assert_str_eq(audit_append_read(&who, &fields, &entry), HEADER_API_KEY);
}
