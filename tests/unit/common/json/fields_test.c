#include <criterion/criterion.h>
#include <string.h>

#include "common/json/fields.h"

static struct arena arena;
static struct errors errors;

static void setup(void)
{
    arena_init(&arena, 1 << 20);
    errors_init(&errors, &arena);
}

static void teardown(void)
{
    arena_release(&arena);
}

TestSuite(errors, .init = setup, .fini = teardown);

static struct str written(void)
{
    struct buf out;

    buf_init(&out, &arena, 64);
    errors_write(&errors, &out);
    return buf_str(&out);
}

Test(errors, none_is_an_empty_array)
{
    cr_assert(str_equal(written(), STR("[]")));
}

Test(errors, stand_in_the_order_they_came)
{
    char field[] = "from.email";

    errors_add(&errors, "parameter_invalid", field, "at most %d \"characters\"", 255);
    memset(field, 'x', sizeof(field) - 1);
    errors_add(&errors, "not_found", NULL, "no such thing");
    cr_assert(str_equal(written(), STR("[{\"code\":\"parameter_invalid\",\"message\":\"at most 255 "
                                       "\\\"characters\\\"\",\"field\":\"from.email\"},"
                                       "{\"code\":\"not_found\",\"message\":\"no such thing\"}]")),
              "%.*s", STR_ARG(written()));
}

Test(errors, beyond_the_tenth_are_dropped)
{
    for (int i = 1; i <= ERRORS_MAX + 5; i++)
        errors_add(&errors, "c", NULL, "%d", i);
    cr_assert_eq(errors.n, ERRORS_MAX);
    cr_assert_str_eq(errors.at[ERRORS_MAX - 1].message, "10");
}

struct target {
    struct str text, name, cursor, id, color;
    struct field_int count;
    struct field_bool flag;
    bool was_read;
};

static void note(json_t *value, const char *path, void *slot, struct errors *noted)
{
    *(bool *)slot = true;
    if (!json_is_array(value))
        errors_add(noted, "parameter_invalid", path, "must be an array");
}

static const char *const colors[] = {"red", "green", NULL};

static const struct field fields[] = {
    {.name = "text", .kind = FIELD_TEXT, .max = 3, .offset = offsetof(struct target, text)},
    {.name = "name",
     .kind = FIELD_FILLED,
     .min = 1,
     .max = 3,
     .offset = offsetof(struct target, name)},
    {.name = "cursor",
     .kind = FIELD_TEXT,
     .max = 3,
     .nullable = true,
     .offset = offsetof(struct target, cursor)},
    {.name = "id", .kind = FIELD_UUID, .offset = offsetof(struct target, id)},
    {.name = "color",
     .kind = FIELD_CHOICE,
     .choices = colors,
     .offset = offsetof(struct target, color)},
    {.name = "count",
     .kind = FIELD_INT,
     .min = 1,
     .max = 100,
     .offset = offsetof(struct target, count)},
    {.name = "flag", .kind = FIELD_BOOL, .offset = offsetof(struct target, flag)},
    {.name = "list",
     .kind = FIELD_CUSTOM,
     .read = note,
     .offset = offsetof(struct target, was_read)},
    FIELDS_END,
};

static struct target target;

TestSuite(fields, .init = setup, .fini = teardown);

static bool read(const char *body)
{
    errors_init(&errors, &arena);
    target = (struct target){0};
    return fields_read_body(str_of(body), fields, &target, &errors);
}

static void assert_refused(const char *body, const char *field)
{
    cr_assert_not(read(body), "%s", body);
    cr_assert_eq(errors.n, 1, "%s", body);
    cr_assert_str_eq(errors.at[0].field, field, "%s", body);
}

Test(fields, are_read_into_their_slots)
{
    cr_assert(read("{\"text\":\"\\u00e4bc\",\"name\":\" x \",\"cursor\":\"c\",\"color\":\"green\","
                   "\"id\":\"01920000-0000-7000-8000-00000000000A\",\"count\":100,"
                   "\"flag\":false,\"list\":[]}"));
    cr_assert(str_equal(target.text, STR("\xc3\xa4"
                                         "bc")));
    cr_assert(str_equal(target.name, STR(" x ")));
    cr_assert(str_equal(target.cursor, STR("c")));
    cr_assert(str_equal(target.color, STR("green")));
    cr_assert(str_equal(target.id, STR("01920000-0000-7000-8000-00000000000A")));
    cr_assert(target.count.given && target.count.value == 100);
    cr_assert(target.flag.given && !target.flag.value);
    cr_assert(target.was_read);
}

Test(fields, that_are_absent_leave_their_slots_unchanged)
{
    cr_assert(read("{\"cursor\":null}"));
    cr_assert_null(target.text.p);
    cr_assert_null(target.cursor.p);
    cr_assert_not(target.count.given || target.flag.given || target.was_read);
}

Test(fields, are_refused_by_their_path)
{
    assert_refused("{\"text\":\"abcd\"}", "text");
    assert_refused("{\"text\":1}", "text");
    assert_refused("{\"text\":null}", "text");
    assert_refused("{\"text\":\"a\\u0000\"}", "text");
    assert_refused("{\"name\":\"\\u2003\"}", "name");
    assert_refused("{\"name\":\"\"}", "name");
    assert_refused("{\"id\":\"01920000-0000-7000-8000-00000000000g\"}", "id");
    assert_refused("{\"id\":\"{01920000-0000-7000-8000-0000000000}\"}", "id");
    assert_refused("{\"color\":\"RED\"}", "color");
    assert_refused("{\"color\":1}", "color");
    assert_refused("{\"count\":0}", "count");
    assert_refused("{\"count\":101}", "count");
    assert_refused("{\"count\":50.0}", "count");
    assert_refused("{\"count\":\"50\"}", "count");
    assert_refused("{\"flag\":0}", "flag");
    assert_refused("{\"flag\":\"true\"}", "flag");
    assert_refused("{\"list\":{}}", "list");
    assert_refused("{\"nothing\":1}", "nothing");
}

Test(fields, name_the_choices_there_are)
{
    cr_assert_not(read("{\"color\":\"blue\"}"));
    cr_assert_str_eq(errors.at[0].message, "must be one of: red, green");
}

Test(fields, give_the_outcome_of_the_first_error)
{
    cr_assert_not(read("{"));
    cr_assert_eq(fields_outcome(&errors), OUTCOME_INVALID_JSON);
    cr_assert_not(read("{\"flag\":0}"));
    cr_assert_eq(fields_outcome(&errors), OUTCOME_PARAMETER_INVALID);
}

Test(fields, stop_at_the_tenth_error)
{
    cr_assert_not(read("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,"
                       "\"j\":1,\"k\":1,\"list\":{}}"));
    cr_assert_eq(errors.n, ERRORS_MAX);
    cr_assert_str_eq(errors.at[9].field, "j");
    cr_assert_not(target.was_read);
}

Test(fields, name_a_single_exact_length_and_distinguish_null_from_absent)
{
    static const struct field own[] = {
        {.name = "text",
         .kind = FIELD_TEXT,
         .min = 3,
         .max = 3,
         .offset = offsetof(struct target, text)},
        {.name = "count",
         .kind = FIELD_INT,
         .nullable = true,
         .max = 9,
         .offset = offsetof(struct target, count)},
        FIELDS_END,
    };
    struct target into = {0};

    cr_expect(fields_read_body(STR("{\"text\":\"abc\"}"), own, &into, &errors));
    cr_expect_not(into.count.is_null || into.count.given);
    cr_expect(fields_read_body(STR("{\"count\":null}"), own, &into, &errors));
    cr_expect(into.count.is_null && !into.count.given);
    cr_expect_not(fields_read_body(STR("{\"text\":\"x\"}"), own, &into, &errors));
    cr_expect_str_eq(errors.at[0].message, "must be exactly 3 characters long");
}
