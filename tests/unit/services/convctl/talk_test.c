#include "services/convctl/talk.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena = {.cap = 1 << 20};
static struct failure failure;
static struct str answer;

static enum status judge(const char *outcome, const char *body)
{
    answer = STR_NONE;
    failure = (struct failure){0};
    return talk_judge(str_of(outcome), str_of(body), &arena, &answer, &failure);
}

Test(talk, passes_a_finished_resource_on_byte_for_byte)
{
    cr_assert_eq(judge("ok", "{\"n\":1.10}"), ST_OK);
    cr_assert(str_equal(answer, STR("{\"n\":1.10}")));
    cr_assert_eq(judge("created", "[]"), ST_OK);
}

Test(talk, makes_one_failure_from_all_problems)
{
    cr_assert_eq(judge("parameter_invalid",
                       "[{\"code\":\"parameter_invalid\",\"message\":\"must be short\","
                       "\"field\":\"name\"},{\"code\":\"parameter_not_found\","
                       "\"message\":\"is required\",\"field\":\"plan\"}]"),
                 ST_REFUSED);
    cr_assert_str_eq(failure.code, "parameter_invalid");
    cr_assert_str_eq(failure.message, "name must be short; plan is required");
}

Test(talk, leaves_out_a_field_that_is_not_named)
{
    cr_assert_eq(judge("not_found", "[{\"code\":\"not_found\",\"message\":\"No such thing\"}]"),
                 ST_REFUSED);
    cr_assert_str_eq(failure.code, "not_found");
    cr_assert_str_eq(failure.message, "No such thing");
}

Test(talk, takes_the_code_from_the_outcome_when_no_problem_is_told)
{
    cr_assert_eq(judge("busy", ""), ST_REFUSED);
    cr_assert_str_eq(failure.code, "service_unavailable");
    cr_assert_eq(judge("uncertain", "[]"), ST_REFUSED);
    cr_assert_str_eq(failure.code, "server_error");
}

Test(talk, does_not_take_nonsense_for_an_answer)
{
    cr_assert_eq(judge(NULL, "{}"), ST_REFUSED);
    cr_assert_str_eq(failure.code, "server_error");
    cr_assert_eq(judge("fine", "{}"), ST_REFUSED);
    cr_assert_eq(judge("ok", "{"), ST_REFUSED);
    cr_assert_str_eq(failure.message, "the service's answer is not JSON");
}
