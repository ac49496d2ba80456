#include "proto/outcome.h"

#include <criterion/criterion.h>

Test(outcome, every_name_finds_its_outcome)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        enum outcome back = OUTCOME_COUNT;

        cr_assert(outcome_of(str_of(outcome_name((enum outcome)i)), &back));
        cr_assert_eq((int)back, i);
    }
}

Test(outcome, nothing_else_is_an_outcome)
{
    enum outcome out = OUTCOME_BUSY;

    cr_assert_not(outcome_of(STR(""), &out));
    cr_assert_not(outcome_of(STR_NONE, &out));
    cr_assert_not(outcome_of(STR("OK"), &out));
    cr_assert_not(outcome_of(STR("okay"), &out));
    cr_assert_eq(out, OUTCOME_BUSY);
}

Test(outcome, success_has_no_code_and_everything_else_has_one)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        bool success = outcome_http_status((enum outcome)i) < 300;

        cr_assert_eq(outcome_code((enum outcome)i) == NULL, success, "%s",
                     outcome_name((enum outcome)i));
    }
}

Test(outcome, uncertain_commands_get_500_and_are_not_recorded)
{
    cr_assert_eq(outcome_http_status(OUTCOME_UNCERTAIN), 500);
    cr_assert_str_eq(outcome_code(OUTCOME_UNCERTAIN), "server_error");
    cr_assert_not(outcome_is_audited(OUTCOME_UNCERTAIN));
    cr_assert_eq(outcome_http_status(OUTCOME_UNAVAILABLE), 503);
    cr_assert_not(outcome_is_audited(OUTCOME_BUSY));
    cr_assert(outcome_is_audited(OUTCOME_NOT_FOUND));
}

Test(outcome, every_name_of_an_operation_finds_it)
{
    for (int i = OP_NONE + 1; i < OPERATION_COUNT; i++) {
        enum operation back = OP_NONE;

        cr_assert(operation_of(str_of(operation_name((enum operation)i)), &back));
        cr_assert_eq((int)back, i);
    }
}

Test(outcome, nothing_else_is_an_operation)
{
    enum operation out = OP_PING;

    cr_assert_not(operation_of(STR(""), &out));
    cr_assert_not(operation_of(STR_NONE, &out));
    cr_assert_not(operation_of(STR("Ping"), &out));
    cr_assert_not(operation_of(STR("conversation.creat"), &out));
    cr_assert_not(operation_of(STR("ping\0"), &out));
    cr_assert_eq(out, OP_PING);
}
