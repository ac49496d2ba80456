#include "services/convctl/bus_client.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena = {.cap = 1 << 20};
static struct convctl_failure failure;
static struct str answer;

static enum status classify(const char *outcome, const char *body)
{
    answer = STR_NONE;
    failure = (struct convctl_failure){0};
    return bus_client_classify(str_of(outcome), str_of(body), &arena, &answer, &failure);
}

Test(bus_client, passes_a_finished_resource_on_byte_for_byte)
{
    cr_assert_eq(classify("ok", "{\"n\":1.10}"), ST_OK);
    cr_assert(str_equal(answer, STR("{\"n\":1.10}")));
    cr_assert_eq(classify("created", "[]"), ST_OK);
}

Test(bus_client, makes_one_failure_from_all_errors)
{
    cr_assert_eq(classify("parameter_invalid",
                          "[{\"code\":\"parameter_invalid\",\"message\":\"must be short\","
                          "\"field\":\"name\"},{\"code\":\"parameter_not_found\","
                          "\"message\":\"is required\",\"field\":\"plan\"}]"),
                 ST_REFUSED);
    cr_assert_str_eq(failure.code, "parameter_invalid");
    cr_assert_str_eq(failure.message, "name must be short; plan is required");
}

Test(bus_client, leaves_out_a_field_that_is_not_named)
{
    cr_assert_eq(classify("not_found", "[{\"code\":\"not_found\",\"message\":\"No such thing\"}]"),
                 ST_REFUSED);
    cr_assert_str_eq(failure.code, "not_found");
    cr_assert_str_eq(failure.message, "No such thing");
}

Test(bus_client, takes_the_code_from_the_outcome_when_no_error_is_listed)
{
    cr_assert_eq(classify("busy", ""), ST_REFUSED);
    cr_assert_str_eq(failure.code, "service_unavailable");
    cr_assert_eq(classify("uncertain", "[]"), ST_REFUSED);
    cr_assert_str_eq(failure.code, "server_error");
}

Test(bus_client, does_not_take_nonsense_for_an_answer)
{
    cr_assert_eq(classify(NULL, "{}"), ST_REFUSED);
    cr_assert_str_eq(failure.code, "server_error");
    cr_assert_eq(classify("fine", "{}"), ST_REFUSED);
    cr_assert_eq(classify("ok", "{"), ST_REFUSED);
    cr_assert_str_eq(failure.message, "the service's reply is not JSON");
}

/* -- the list of services ---------------------------------------------------------------------- */

static const char *name_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "name"));
}

Test(services, stand_in_order_and_are_ours)
{
    json_t *list = json_array();

    services_hear(list, STR("{\"name\":\"search\",\"id\":\"b\"}"));
    services_hear(list, STR("{\"name\":\"audit\",\"id\":\"a\"}"));
    services_hear(list, STR("{\"name\":\"somebody\",\"id\":\"a\"}"));
    services_hear(list, STR("[1]"));
    services_hear(list, STR(""));
    cr_assert_eq(json_array_size(list), 2);
    cr_assert_str_eq(name_at(list, 0), "audit");
    cr_assert_str_eq(name_at(list, 1), "search");
    json_decref(list);
}

Test(services, figures_that_cannot_be_added_count_as_none)
{
    json_t *list = json_array();

    services_hear(list,
                  STR("{\"name\":\"audit\",\"endpoints\":[{\"num_requests\":9223372036854775807,"
                      "\"num_errors\":1},{\"num_requests\":1,\"num_errors\":2}]}"));
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(list, 0), "requests")), 0);
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(list, 0), "errors")), 3);
    json_decref(list);
}
