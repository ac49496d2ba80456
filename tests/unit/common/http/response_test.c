#include "common/http/response.h"

#include <criterion/criterion.h>
#include <string.h>

static h2o_req_t req;
static struct edge_request http;

static void set_up(void)
{
    req = (h2o_req_t){.version = 0x101};
    h2o_mem_init_pool(&req.pool);
    http = (struct edge_request){.req = &req, .id = "0190a000-0000-7000-8000-000000000001"};
    arena_init(&http.arena, 4096);
}

static void tear_down(void)
{
    arena_release(&http.arena);
    h2o_mem_clear_pool(&req.pool);
}

TestSuite(response, .init = set_up, .fini = tear_down);

/* The name of a header as it goes out, and its value. */
static bool goes_out(size_t i, const char *name, const char *value)
{
    const h2o_header_t *header = &req.res.headers.entries[i];
    const char *shown = header->orig_name != NULL ? header->orig_name : header->name->base;

    return strncmp(shown, name, header->name->len) == 0 && strlen(name) == header->name->len &&
           str_equal((struct str){header->value.base, header->value.len}, str_of(value));
}

Test(response, begins_with_what_each_has)
{
    const struct response_form form = {.is_capitalized = true};

    response_begin(&http, &form, 201, "application/json", "no-store");
    cr_expect_eq(req.res.status, 201);
    cr_expect_str_eq(req.res.reason, "Created");
    cr_assert_eq(req.res.headers.size, 3);
    cr_expect(goes_out(0, "Content-Type", "application/json"));
    cr_expect(goes_out(1, "Cache-Control", "no-store"));
    cr_expect(goes_out(2, "X-Service-Request-Id", http.id));
}

Test(response, goes_on_with_what_its_program_always_sends)
{
    static const struct response_header always[] = {{"x-frame-options", "DENY"}};
    const struct response_form form = {.always = always, .n_always = 1};

    response_begin(&http, &form, 304, NULL, "no-cache");
    cr_assert_eq(req.res.headers.size, 3);
    cr_expect(goes_out(0, "cache-control", "no-cache"));
    cr_expect(goes_out(1, "x-service-request-id", http.id));
    cr_expect(goes_out(2, "x-frame-options", "DENY"));
}

Test(response, has_numbers_in_decimal)
{
    cr_expect(str_equal(response_number(&http, 0), STR("0")));
    cr_expect(str_equal(response_number(&http, 1203), STR("1203")));
    cr_expect(str_equal(response_number(&http, UINT64_MAX), STR("18446744073709551615")));
}

Test(response, tells_an_error_with_its_code)
{
    cr_expect(str_equal(response_error(&http, OUTCOME_NOT_FOUND, "Nothing there", NULL),
                        STR("[{\"code\":\"not_found\",\"message\":\"Nothing there\"}]")));
}

Test(response, tells_the_field_at_fault_and_escapes)
{
    cr_expect(str_equal(response_error(&http, OUTCOME_PARAMETER_INVALID, "must be \"x\"", "a"),
                        STR("[{\"code\":\"parameter_invalid\",\"message\":\"must be \\\"x\\\"\","
                            "\"field\":\"a\"}]")));
}

Test(response, has_a_reason_for_each_status)
{
    cr_expect_str_eq(reason_of(404), "Not Found");
    cr_expect_str_eq(reason_of(999), "Internal Server Error");
}
