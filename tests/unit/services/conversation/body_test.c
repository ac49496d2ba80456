#include "services/conversation/body.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct errors errors;

static void start(void)
{
    arena_init(&arena, 64 << 20);
    errors_init(&errors, &arena);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(body, .init = start, .fini = stop);

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X250 X50 X50 X50 X50 X50
#define X500 X250 X250
#define ID   "01920000-0000-7000-8000-00000000000a"

/* The errors in order, as `code field, code field`; "" when there are none. */
static const char *errors_text(void)
{
    struct buf out;

    buf_init(&out, &arena, 256);
    for (size_t i = 0; i < errors.n; i++) {
        const char *const code = errors.at[i].code;
        const char *const field = errors.at[i].field;

        buf_printf(&out, "%s%s %s", i == 0 ? "" : ", ",
                   strcmp(code, "parameter_invalid") == 0     ? "invalid"
                   : strcmp(code, "parameter_not_found") == 0 ? "missing"
                                                              : code,
                   field == NULL ? "-" : field);
    }
    return arena_cstr(&arena, buf_str(&out));
}

struct sample {
    const char *body;
    const char *errors;
};

typedef bool (*read_fn)(struct str body, void *out);

static bool read_create(struct str body, void *out)
{
    return create_body_read(body, out, &errors);
}

static bool read_update(struct str body, void *out)
{
    return update_body_read(body, out, &errors);
}

static void assert_samples(const struct sample *samples, size_t n, read_fn read, void *out)
{
    for (size_t i = 0; i < n; i++) {
        errors_init(&errors, &arena);
        cr_expect_eq(read(str_of(samples[i].body), out), samples[i].errors[0] == '\0', "%s",
                     samples[i].body);
        cr_expect_str_eq(errors_text(), samples[i].errors, "%s: %s", samples[i].body,
                         errors_text());
    }
}

/* A create with these members of `from`, of custom_attributes, of the root. */
#define FROM(members) "{\"external_id\":\"e\",\"from\":{" members "}}"
#define USER(members) FROM("\"external_id\":\"u\"," members)
#define ATTR(members)                                                                              \
    "{\"external_id\":\"e\",\"from\":{\"external_id\":\"u\"},\"custom_attributes\":{" members "}}"
#define ROOT(members) "{\"external_id\":\"e\",\"from\":{\"external_id\":\"u\"}," members "}"
#define EXTERNAL(id)  "{\"external_id\":" id ",\"from\":{\"external_id\":\"u\"}}"

static const struct sample create_samples[] = {
    /* accepted bodies */
    {FROM("\"external_id\":\"u\""), ""},
    {FROM("\"id\":\"" ID "\""), ""},
    {FROM("\"id\":\"01920000-0000-7000-8000-00000000000A\""), ""},
    {USER("\"type\":\"contact\""), ""},
    {USER("\"type\":\"user\""), ""},
    {USER("\"type\":\"lead\""), ""},
    {USER("\"type\":\"customer\""), ""},
    {USER("\"name\":\"\""), ""},
    {USER("\"name\":\"" X250 "12345\",\"email\":\"" X250 "12345\",\"phone\":\"" X50 "\""), ""},
    {EXTERNAL("\"" X250 "12345\""), ""},
    {EXTERNAL("\"a b\""), ""},
    {EXTERNAL("\"\\u00e9\\ud83d\\ude00\""), ""},
    {EXTERNAL("\"\\ufeff\""), ""}, /* not White_Space */
    {ROOT("\"custom_attributes\":{}"), ""},
    {ATTR("\"plan\":\"pro\",\"n\":-1.5e3,\"b\":true,\"gone\":null,\"empty\":\"\""), ""},
    {ATTR("\"Ab9_-.\":1,\"service\":1,\"servicex_\":1,\"service-a\":1"), ""},
    {ATTR("\"" X50 "12345678901234\":\"" X500 "\""), ""},
    /* the body as a whole */
    {"", "invalid_json -"},
    {"{", "invalid_json -"},
    {"{\"external_id\":\"e\",\"external_id\":\"e\"}", "invalid_json -"},
    {"{\"from\":{\"id\":\"a\",\"id\":\"a\"}}", "invalid_json -"},
    {"{\"external_id\":\"\\ud800\"}", "invalid_json -"},
    {"[]", "invalid -"},
    {"null", "invalid -"},
    {"\"text\"", "invalid -"},
    {"7", "invalid -"},
    {"{}", "missing external_id, missing from"},
    /* unknown fields */
    {ROOT("\"body\":\"hello\""), "invalid body"},
    {ROOT("\"organization_id\":\"x\""), "invalid organization_id"},
    {ROOT("\"workspace_id\":null"), "invalid workspace_id"},
    {ROOT("\"External_id\":\"e\""), "invalid External_id"},
    {USER("\"foo\":1"), "invalid from.foo"},
    {USER("\"organization_id\":\"x\""), "invalid from.organization_id"},
    /* external_id */
    {EXTERNAL("\"\""), "invalid external_id"},
    {EXTERNAL("\"" X250 "123456\""), "invalid external_id"},
    {EXTERNAL("7"), "invalid external_id"},
    {EXTERNAL("null"), "invalid external_id"},
    {EXTERNAL("\" e\""), "invalid external_id"},
    {EXTERNAL("\"e\\n\""), "invalid external_id"},
    {EXTERNAL("\"e\\u00a0\""), "invalid external_id"},
    {EXTERNAL("\"\\u3000e\""), "invalid external_id"},
    {EXTERNAL("\"a\\u0000b\""), "invalid external_id"},
    /* from */
    {"{\"external_id\":\"e\"}", "missing from"},
    {"{\"external_id\":\"e\",\"from\":null}", "invalid from"},
    {"{\"external_id\":\"e\",\"from\":[]}", "invalid from"},
    {"{\"external_id\":\"e\",\"from\":\"u\"}", "invalid from"},
    {FROM(""), "missing from.external_id"},
    {FROM("\"type\":\"user\""), "missing from.external_id"},
    {FROM("\"id\":\"" ID "\",\"external_id\":\"u\""), "invalid from.id"},
    {FROM("\"id\":null,\"external_id\":\"u\""), "invalid from.id, invalid from.id"},
    {FROM("\"id\":\"nobody\""), "invalid from.id"},
    {FROM("\"id\":7"), "invalid from.id"},
    {FROM("\"id\":\"01920000000070008000000000000000000a\""), "invalid from.id"},
    {FROM("\"external_id\":\"\""), "invalid from.external_id"},
    {FROM("\"external_id\":\"u \""), "invalid from.external_id"},
    {FROM("\"external_id\":5"), "invalid from.external_id"},
    {FROM("\"external_id\":null"), "invalid from.external_id"},
    {USER("\"type\":\"admin\""), "invalid from.type"},
    {USER("\"type\":null"), "invalid from.type"},
    {USER("\"type\":\"User\""), "invalid from.type"},
    {USER("\"name\":null"), "invalid from.name"},
    {USER("\"name\":[]"), "invalid from.name"},
    {USER("\"name\":\"" X250 "123456\""), "invalid from.name"},
    {USER("\"name\":\"\\u0000\""), "invalid from.name"},
    {USER("\"email\":\"\""), "invalid from.email"},
    {USER("\"email\":\"" X250 "123456\""), "invalid from.email"},
    {USER("\"email\":null"), "invalid from.email"},
    {USER("\"phone\":\" \\t\""), "invalid from.phone"},
    {USER("\"phone\":\"" X50 "1\""), "invalid from.phone"},
    {USER("\"phone\":5550100"), "invalid from.phone"},
    /* custom_attributes */
    {ROOT("\"custom_attributes\":null"), "invalid custom_attributes"},
    {ROOT("\"custom_attributes\":[]"), "invalid custom_attributes"},
    {ATTR("\"\":1"), "invalid custom_attributes."},
    {ATTR("\"1a\":1"), "invalid custom_attributes.1a"},
    {ATTR("\"_a\":1"), "invalid custom_attributes._a"},
    {ATTR("\"a b\":1"), "invalid custom_attributes.a b"},
    {ATTR("\"\\u00e9\":1"), "invalid custom_attributes.\xc3\xa9"},
    {ATTR("\"" X50 "123456789012345\":1"), "invalid custom_attributes." X50 "123456789012345"},
    {ATTR("\"service_tier\":1"), "invalid custom_attributes.service_tier"},
    {ATTR("\"SerVice_tier\":null"), "invalid custom_attributes.SerVice_tier"},
    {ATTR("\"a\":{}"), "invalid custom_attributes.a"},
    {ATTR("\"a\":[1]"), "invalid custom_attributes.a"},
    {ATTR("\"a\":\"" X500 "1\""), "invalid custom_attributes.a"},
    {ATTR("\"a\":\"x\\u0000\""), "invalid custom_attributes.a"},
    {ATTR("\"a\":1e400"), "invalid_json -"},
    /* several, in the order of the document, the missing ones last */
    {"{\"x\":1,\"from\":{\"y\":1},\"custom_attributes\":{\"1\":1}}",
     "invalid x, invalid from.y, missing from.external_id, invalid custom_attributes.1, "
     "missing external_id"},
    {"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1}",
     "invalid a, invalid b, invalid c, invalid d, invalid e, invalid f, invalid g, invalid h, "
     "invalid i, invalid j"},
};

Test(body, of_a_create_is_judged_field_by_field)
{
    struct create_body out;

    assert_samples(create_samples, ARRAY_SIZE(create_samples), read_create, &out);
}

static const struct sample update_samples[] = {
    {"{\"custom_attributes\":{}}", ""},
    {"{\"custom_attributes\":{\"a\":null,\"b\":2}}", ""},
    {"", "invalid_json -"},
    {"[]", "invalid -"},
    {"{}", "missing custom_attributes"},
    {"{\"custom_attributes\":null}", "invalid custom_attributes"},
    {"{\"custom_attributes\":\"a\"}", "invalid custom_attributes"},
    {"{\"status\":\"resolved\"}", "invalid status, missing custom_attributes"},
    {"{\"custom_attributes\":{},\"channel\":\"api\",\"id\":1}", "invalid channel, invalid id"},
    {"{\"custom_attributes\":{\"a\":[]},\"organization_id\":1}",
     "invalid custom_attributes.a, invalid organization_id"},
    {"{\"custom_attributes\":{\"service_a\":null}}", "invalid custom_attributes.service_a"},
};

Test(body, of_an_update_takes_custom_attributes_and_nothing_else)
{
    struct update_body out;

    assert_samples(update_samples, ARRAY_SIZE(update_samples), read_update, &out);
}

/* `n` attributes with values, then `extra`. */
static struct str many_attributes(int n, const char *extra)
{
    struct buf body;

    buf_init(&body, &arena, 4096);
    buf_add(&body, STR("{\"custom_attributes\":{"));
    for (int i = 0; i < n; i++)
        buf_printf(&body, "%s\"key%d\":%d", i == 0 ? "" : ",", i, i);
    buf_printf(&body, "%s}}", extra);
    return buf_str(&body);
}

Test(body, holds_at_most_20_attributes_and_nulls_are_none)
{
    struct update_body out;

    cr_assert(update_body_read(many_attributes(20, ",\"gone\":null"), &out, &errors));
    cr_assert_eq(out.custom_attributes.n_values, 20);
    cr_assert_not(update_body_read(many_attributes(25, ""), &out, &errors));
    cr_assert_str_eq(errors_text(), "invalid custom_attributes");
    cr_assert_str_eq(errors.at[0].message, "custom_attributes must not have more than 20 keys");
}

#define KEY_RULE "must begin with a letter and consist of letters, digits, '_', '-' and '.'"
#define E10      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
#define E90      E10 E10 E10 E10 E10 E10 E10 E10 E10

/* The message of the first error. */
static const struct {
    const char *body, *message;
} attribute_messages[] = {
    {ATTR("\"plan\":\"" X500 "1\""), "custom_attributes.plan must be at most 500 characters long"},
    {ATTR("\"a\":[1]"), "custom_attributes.a must be a string, a number, true, false or null"},
    {ATTR("\"a\":\"x\\u0000\""), "custom_attributes.a must not contain U+0000"},
    {ATTR("\"a%s b\":1"), "custom_attributes.a%s b " KEY_RULE},
    {ATTR("\"\":1"), "custom_attributes. " KEY_RULE},
    {ATTR("\"service_tier\":1"),
     "custom_attributes.service_tier must not use the reserved prefix service_"},
    {ATTR("\"" X50 "123456789012345\":1"),
     "custom_attributes." X50 "123456789012345 must be a key of at most 64 characters"},
    {ROOT("\"custom_attributes\":[]"), "custom_attributes must be an object"},
    /* a key may fill a body: messages quote a bounded part of it, in whole characters */
    {ATTR("\"" X500 "\":1"),
     "custom_attributes." X50 X50 X50 X10 X10 X10 "xx... must be a key of at most 64 characters"},
    {ATTR("\"x" E90 E10 "\":1"), "custom_attributes.x" E90 "... " KEY_RULE},
};

Test(body, a_refused_attribute_is_named_by_the_message)
{
    struct create_body out;

    for (size_t i = 0; i < ARRAY_SIZE(attribute_messages); i++) {
        errors_init(&errors, &arena);
        cr_assert_not(create_body_read(str_of(attribute_messages[i].body), &out, &errors));
        cr_expect_str_eq(errors.at[0].message, attribute_messages[i].message);
    }
}

Test(body, gives_a_profile_as_it_is_stored)
{
    struct create_body out;

    cr_assert(
        create_body_read(STR(USER("\"email\":\"Ann@EXAMPLE.com\",\"phone\":\" +1 555\\u00a0\","
                                  "\"name\":\" Ann \"")),
                         &out, &errors));
    cr_assert(str_equal(out.from.email, STR("ann@example.com")));
    cr_assert(str_equal(out.from.phone, STR("+1 555")));
    cr_assert(str_equal(out.from.name, STR(" Ann ")));
    cr_assert(str_equal(out.from.external_id, STR("u")));
    cr_assert_null(out.from.id.p);
    cr_assert_not(out.custom_attributes.given);
}
