/* Contract 4.5: what a search finds, and what it refuses. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(search, .init = stack_share);

#define FILTER(name, op, value)                                                                    \
    "{\"field\":\"" name "\",\"operator\":\"" op "\",\"value\":" value "}"
#define CONTACT FILTER("contact.external_id", "=", "\"u\"")
#define FIRST   1700000000 /* conversation a is of the next second, b of the one after that, ... */

/* Six conversations of contact u, named a to f, f the newest. */
enum { NAMES = 6 };

struct found {
    struct org org;
    const char *ids[NAMES];
};

static struct client_response *search(const char *key, const char *body)
{
    return api_post(key, "/conversations/search", body);
}

static struct client_response *search_with(const struct org *org, const char *more)
{
    return search(org->read_key,
                  format("{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT "%s]}}", more));
}

static const char *filter_text(const char *field, const char *op, const char *value)
{
    return format(",{\"field\":\"%s\",\"operator\":\"%s\",\"value\":%s}", field, op, value);
}

/* -- the conversations ----------------------------------------------------------------------- */

static const char *create(const struct org *org, char name, const char *attributes)
{
    struct client_response *response =
        api_create(org->full_key,
                   "{\"external_id\":\"e%c\",\"from\":{\"external_id\":\"u\"},"
                   "\"custom_attributes\":%s}",
                   name, attributes);

    expect_status(response, 201);
    return text_at(response, "id");
}

static const char *open_on(const struct org *org, const char *channel, const char *status)
{
    json_t *made = convctl("conversation", "open", "--org", org->id, "--channel", channel,
                           "--contact-external-id", "u", "--status", status, NULL);
    const char *id = format("%s", json_string_value(json_object_get(made, "id")));

    json_decref(made);
    return id;
}

static void set(const char *id, const char *column, const char *value)
{
    cr_assert_eq(sql_integer(format("UPDATE conversation.conversations SET %s = %s WHERE id = $1 "
                                    "RETURNING 1",
                                    column, value),
                             id, NULL),
                 1);
}

static void make(struct found *found)
{
    /* Two have fractions of a second: a search compares the whole second that clients see. */
    static const char *const parts[NAMES] = {".25", "", ".999999", "", "", ""};
    const char **ids = found->ids;
    struct org other;

    org_new(&found->org);
    org_new(&other);
    ids[0] = create(&found->org, 'a', "{\"plan\":\"pro\",\"seats\":2}");
    ids[1] = create(&found->org, 'b', "{\"plan\":\"free\",\"seats\":\"2\"}");
    ids[2] = create(&found->org, 'c', "{\"seats\":2.0,\"big\":true,\"rate\":0.1}");
    ids[3] = open_on(&found->org, "email", "waiting");
    ids[4] = open_on(&found->org, "widget", "archived");
    ids[5] = create(&found->org, 'f', "{\"plan\":\"Pro\",\"big\":\"true\"}");
    set(ids[1], "status", "'resolved'");
    set(ids[2], "status", "'closed'");
    set(ids[5], "status", "'human_takeover'");
    for (int i = 0; i < NAMES; i++) {
        set(ids[i], "created_at", format("to_timestamp(%d%s)", FIRST + 1 + i, parts[i]));
        set(ids[i], "updated_at", format("to_timestamp(%d%s)", FIRST + 101 + i, parts[i]));
    }
    json_decref(convctl("conversation", "delete", "--org", found->org.id,
                        create(&found->org, 'g', "{}"), NULL));
    new_conversation(&found->org, "of v", "v");
    new_conversation(&other, "ea", "u");
}

static void expect_found(const struct found *found, const struct client_response *response,
                         const char *names, const char *about)
{
    const size_t n = strlen(names);

    expect_status(response, 200);
    cr_assert_eq(json_array_size(at(response, "conversations")), n, "%s: %s", about,
                 response->body);
    cr_assert_eq(integer_at(response, "total_count"), (long long)n, "%s", about);
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(text_at(response, format("conversations[%zu].id", i)),
                         found->ids[names[i] - 'a'], "%s: number %zu is not %c", about, i,
                         names[i]);
}

/* -- every field by every operator ----------------------------------------------------------- */

static const struct {
    const char *field, *op, *value, *names;
} table[] = {
    {"custom_attributes.plan", "=", "\"pro\"", "a"},
    {"custom_attributes.plan", "!=", "\"pro\"", "fedcb"},
    {"custom_attributes.seats", "=", "2", "ca"},
    {"custom_attributes.seats", "=", "2.0", "ca"},
    {"custom_attributes.seats", "=", "20e-1", "ca"},
    {"custom_attributes.seats", "=", "\"2\"", "b"},
    {"custom_attributes.seats", "!=", "2", "fedb"},
    {"custom_attributes.seats", "!=", "\"2\"", "fedca"},
    {"custom_attributes.rate", "=", "0.1", "c"},
    {"custom_attributes.rate", "=", "0.10000000000000001", ""},
    {"custom_attributes.big", "=", "true", "c"},
    {"custom_attributes.big", "=", "\"true\"", "f"},
    {"custom_attributes.big", "=", "false", ""},
    {"custom_attributes.big", "!=", "true", "fedba"},
    {"custom_attributes.Plan", "=", "\"pro\"", ""},
    {"custom_attributes.absent", "!=", "0", "fedcba"},
    {"external_id", "=", "\"ea\"", "a"},
    {"external_id", "!=", "\"ea\"", "fcb"},
    {"external_id", "IN", "[\"eb\",\"ea\",\"ed\",\"EC\"]", "ba"},
    {"external_id", "NIN", "[\"ea\",\"ec\"]", "fb"},
    {"channel", "=", "\"api\"", "fcba"},
    {"channel", "!=", "\"api\"", "ed"},
    {"channel", "IN", "[\"email\",\"api\"]", "fdcba"},
    {"channel", "NIN", "[\"email\",\"api\"]", "e"},
    {"channel", "=", "\"pigeon\"", ""},
    {"channel", "!=", "\"pigeon\"", "fedcba"},
    {"source.type", "=", "\"widget\"", "e"},
    {"source.type", "!=", "\"widget\"", "fdcba"},
    {"source.type", "IN", "[\"widget\"]", "e"},
    {"source.type", "NIN", "[\"widget\"]", "fdcba"},
    {"state", "=", "\"open\"", "fda"},
    {"state", "!=", "\"open\"", "ecb"},
    {"state", "=", "\"closed\"", "ecb"},
    {"state", "!=", "\"closed\"", "fda"},
    {"status", "=", "\"active\"", "a"},
    {"status", "=", "\"waiting\"", "d"},
    {"status", "=", "\"human_takeover\"", "f"},
    {"status", "=", "\"resolved\"", "cb"},
    {"status", "=", "\"archived\"", "e"},
    {"status", "!=", "\"resolved\"", "feda"},
    {"status", "!=", "\"waiting\"", "fecba"},
    {"status", "IN", "[\"resolved\",\"active\"]", "cba"},
    {"status", "NIN", "[\"resolved\",\"active\"]", "fed"},
    {"created_at", "=", "1700000003", "c"},
    {"created_at", "!=", "1700000003", "fedba"},
    {"created_at", ">", "1700000003", "fed"},
    {"created_at", "<", "1700000003", "ba"},
    {"created_at", ">", "253402300799", ""},
    {"created_at", ">", "0", "fedcba"},
    {"updated_at", "=", "1700000103", "c"},
    {"updated_at", "!=", "1700000103", "fedba"},
    {"updated_at", ">", "1700000103", "fed"},
    {"updated_at", "<", "1700000103", "ba"},
    {"updated_at", "<", "253402300799", "fedcba"},
};

static const char *const operators[] = {"=", "!=", "IN", "NIN", ">", "<", "~", "!~", "^", "$"};

static const struct {
    const char *name, *operators;
} fields[] = {
    {"custom_attributes.plan", " = != "},
    {"external_id", " = != IN NIN "},
    {"channel", " = != IN NIN "},
    {"source.type", " = != IN NIN "},
    {"state", " = != "},
    {"status", " = != IN NIN "},
    {"created_at", " = != > < "},
    {"updated_at", " = != > < "},
    {"contact.id", " = "},
    {"contact.external_id", " = "},
    {"contact_ids", " = "},
};

Test(search, every_field_finds_by_its_operators)
{
    struct found found;

    make(&found);
    expect_found(&found, search_with(&found.org, ""), "fedcba", "the contact alone");
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *filter = filter_text(table[i].field, table[i].op, table[i].value);

        expect_found(&found, search_with(&found.org, filter), table[i].names, filter);
    }
}

Test(search, every_field_refuses_the_other_operators_by_name)
{
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        for (size_t op = 0; op < ARRAY_SIZE(operators); op++) {
            struct client_response *response;

            if (strstr(fields[i].operators, format(" %s ", operators[op])) != NULL)
                continue;
            response = search_with(&org, filter_text(fields[i].name, operators[op], "\"x\""));
            expect_error(response, 400, "invalid_operator", "query.value[1].operator");
            cr_assert_not_null(
                strstr(text_at(response, "errors[0].message"), format("%s ", operators[op])));
        }
    }
}

Test(search, several_filters_hold_together)
{
    static const struct {
        const char *filters, *names;
    } several[] = {
        {"," FILTER("status", "!=", "\"active\"") "," FILTER("status", "!=", "\"waiting\""),
         "fecb"},
        {"," FILTER("created_at", ">", "1700000001") "," FILTER("created_at", "<", "1700000004"),
         "cb"},
        {"," FILTER("status", "=", "\"active\"") "," FILTER("status", "=", "\"waiting\""), ""},
        {"," FILTER("state", "=", "\"closed\"") "," FILTER("channel", "=", "\"api\""), "cb"},
        {"," FILTER("custom_attributes.seats", "=", "2") "," FILTER("state", "=", "\"open\""), "a"},
        {"," FILTER("custom_attributes.seats", "=", "2") "," FILTER("custom_attributes.seats", "=",
                                                                    "\"2\""),
         ""},
        {"," FILTER("channel", "!=", "\"api\"") "," FILTER("external_id", "!=", "\"ea\""), ""},
    };
    struct found found;

    make(&found);
    for (size_t i = 0; i < ARRAY_SIZE(several); i++)
        expect_found(&found, search_with(&found.org, several[i].filters), several[i].names,
                     several[i].filters);
}

Test(search, finds_a_contact_by_each_of_its_names)
{
    struct found found;
    struct client_response *by_name;
    const char *id;

    make(&found);
    by_name = search(found.org.full_key, "{\"query\":" CONTACT "}");
    expect_found(&found, by_name, "fedcba", "by external id");
    id = text_at(by_name, "conversations[0].contact.id");
    for (int i = 0; i < 2; i++) {
        struct client_response *by_id =
            search(found.org.read_key,
                   format("{\"query\":{\"field\":\"%s\",\"operator\":\"=\",\"value\":\"%s\"}}",
                          i == 0 ? "contact.id" : "contact_ids", id));

        expect_found(&found, by_id, "fedcba", "by id");
        cr_assert(json_equal(by_id->json, by_name->json));
    }
}

/* -- answers --------------------------------------------------------------------------------- */

Test(search, answers_with_a_list_of_conversations_as_they_are_read_one_by_one)
{
    struct org org;
    struct client_response *response, *one;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "u");
    response = search_with(&org, "");
    expect_status(response, 200);
    expect_members(response->json, "type conversations total_count pages");
    expect_text(response, "type", "conversation.list");
    expect_members(at(response, "pages"), "type page per_page");
    expect_text(response, "pages.type", "pages");
    expect_integer(response, "pages.page", 1);
    expect_integer(response, "pages.per_page", 50);
    one = read_conversation(&org, id);
    cr_assert(json_equal(at(response, "conversations[0]"), one->json));
    expect_recorded(&org, response, "conversation.search");
    cr_assert_str_eq(sql_text("SELECT contact_id FROM audit.entries WHERE request_id = $1",
                              response->request_id, NULL),
                     text_at(one, "contact.id"));
}

Test(search, finds_conversations_created_just_before)
{
    struct org org;

    org_new(&org);
    for (int i = 1; i <= 50; i++) {
        new_conversation(&org, format("e%d", i), "u");
        expect_integer(search_with(&org, ""), "total_count", i);
    }
}

static void expect_nobody(const struct org *org, const char *filter)
{
    struct client_response *response = search(org->read_key, format("{\"query\":%s}", filter));

    expect_status(response, 200);
    expect_json(response, "conversations", "[]");
    expect_integer(response, "total_count", 0);
    expect_members(at(response, "pages"), "type page per_page");
    expect_recorded(org, response, "conversation.search");
}

Test(search, finds_nothing_of_an_unknown_foreign_or_erased_contact)
{
    struct org org, other;
    struct client_response *mine, *foreign;
    const char *id;

    org_new(&org);
    org_new(&other);
    mine = read_conversation(&org, new_conversation(&org, "e", "u"));
    foreign = read_conversation(&other, new_conversation(&other, "e", "their own"));
    id = text_at(mine, "contact.id");
    expect_nobody(&org, FILTER("contact.external_id", "=", "\"unknown\""));
    expect_nobody(&org, FILTER("contact.external_id", "=", "\"U\""));
    expect_nobody(&org, FILTER("contact.external_id", "=", "\"their own\""));
    expect_nobody(&org, FILTER("contact.id", "=", "\"01890000-0000-7000-8000-000000000000\""));
    expect_nobody(&org, FILTER("contact.id", "=", "\"u\""));
    expect_nobody(&org,
                  format(FILTER("contact.id", "=", "\"%s\""), text_at(foreign, "contact.id")));
    json_decref(convctl("contact", "erase", "--org", org.id, id, NULL));
    expect_nobody(&org, CONTACT);
    expect_nobody(&org, format(FILTER("contact_ids", "=", "\"%s\""), id));
}

Test(search, finds_a_contact_without_external_id_only_by_its_id)
{
    struct org org;
    json_t *made;
    const char *id;

    org_new(&org);
    made = convctl("conversation", "open", "--org", org.id, "--channel", "email", "--contact-email",
                   "u@example.org", NULL);
    id = json_string_value(json_object_get(json_object_get(made, "contact"), "id"));
    expect_nobody(&org, FILTER("contact.external_id", "=", "\"u@example.org\""));
    expect_integer(
        search(org.read_key, format("{\"query\":" FILTER("contact.id", "=", "\"%s\"") "}", id)),
        "total_count", 1);
    json_decref(made);
}

/* -- refusals -------------------------------------------------------------------------------- */

#define AND(filters)      "{\"query\":{\"operator\":\"AND\",\"value\":[" filters "]}}"
#define PAGED(pagination) "{\"query\":" CONTACT ",\"pagination\":" pagination "}"

static const struct {
    const char *body, *code, *field;
} refusals[] = {
    {"{", "invalid_json", NULL},
    {"{\"query\":1,\"query\":2}", "invalid_json", NULL},
    {"{}", "parameter_not_found", "query"},
    {"{\"query\":" FILTER("state", "=", "\"open\"") "}", "parameter_not_found", "query"},
    {AND(FILTER("state", "=", "\"open\"")), "parameter_not_found", "query"},
    {AND(""), "parameter_not_found", "query"},
    {AND(CONTACT "," CONTACT), "parameter_invalid", "query.value[1].field"},
    {AND(CONTACT "," FILTER("contact_ids", "=", "\"x\"")), "parameter_invalid",
     "query.value[1].field"},
    {"{\"query\":{\"operator\":\"OR\",\"value\":[" CONTACT "]}}", "invalid_operator",
     "query.operator"},
    {AND(CONTACT ",{\"operator\":\"AND\",\"value\":[]}"), "parameter_invalid", "query.value[1]"},
    {AND(CONTACT ",{\"operator\":\"OR\",\"value\":[" FILTER("state", "=", "\"open\"") "]}"),
     "parameter_invalid", "query.value[1]"},
    {AND(CONTACT "," FILTER("priority", "=", "1")), "invalid_field", "query.value[1].field"},
    {AND(CONTACT "," FILTER("custom_attributes.service_x", "=", "1")), "invalid_field",
     "query.value[1].field"},
    {AND(CONTACT "," FILTER("state", "=", "\"snoozed\"")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("status", "=", "\"closed\"")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("status", "IN", "[\"active\",\"new\"]")), "parameter_invalid",
     "query.value[1].value[1]"},
    {AND(CONTACT "," FILTER("status", "IN", "\"active\"")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("created_at", ">", "\"1\"")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("custom_attributes.a", "=", "null")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("channel", "=", "\"\\u0000\"")), "parameter_invalid",
     "query.value[1].value"},
    {AND(CONTACT "," FILTER("channel", "=", "\"\\ud800\"")), "invalid_json", NULL},
    {"{\"query\":" FILTER("contact.external_id", "=", "\"u \"") "}", "parameter_invalid",
     "query.value"},
    {"{\"query\":" FILTER("contact.external_id", "!=", "\"u\"") "}", "invalid_operator",
     "query.operator"},
    {"{\"query\":" CONTACT ",\"organization_id\":\"x\"}", "parameter_invalid", "organization_id"},
    {"{\"query\":" CONTACT ",\"workspace_id\":\"x\"}", "parameter_invalid", "workspace_id"},
    {"{\"query\":" CONTACT ",\"sort\":\"asc\"}", "parameter_invalid", "sort"},
    {PAGED("{\"per_page\":0}"), "parameter_invalid", "pagination.per_page"},
    {PAGED("{\"per_page\":101}"), "parameter_invalid", "pagination.per_page"},
    {PAGED("{\"per_page\":\"50\"}"), "parameter_invalid", "pagination.per_page"},
    {PAGED("{\"page\":2}"), "parameter_invalid", "pagination.page"},
    {PAGED("{\"starting_after\":7}"), "parameter_invalid", "pagination.starting_after"},
    {PAGED("{\"starting_after\":\"\"}"), "invalid_cursor", "pagination.starting_after"},
    {PAGED("{\"starting_after\":\"abc\"}"), "invalid_cursor", "pagination.starting_after"},
};

Test(search, refuses_by_name_and_on_record)
{
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        struct client_response *response = search(org.read_key, refusals[i].body);

        expect_error(response, 400, refusals[i].code, refusals[i].field);
        expect_recorded(&org, response, "conversation.search");
    }
}

Test(search, lists_the_fields_there_are)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = search_with(&org, filter_text("subject", "=", "1"));
    expect_error(response, 400, "invalid_field", "query.value[1].field");
    for (size_t i = 1; i < ARRAY_SIZE(fields); i++)
        cr_assert_not_null(strstr(text_at(response, "errors[0].message"), fields[i].name));
    cr_assert_not_null(strstr(text_at(response, "errors[0].message"), "custom_attributes.{key}"));
}
