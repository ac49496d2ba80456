#include "proto/operation.h"

#include <criterion/criterion.h>

Test(operation, every_name_finds_its_operation)
{
    for (int i = OP_NONE + 1; i < OPERATION_COUNT; i++) {
        enum operation back = OP_NONE;

        cr_assert(operation_of(str_of(operation_name((enum operation)i)), &back));
        cr_assert_eq((int)back, i);
    }
}

Test(operation, nothing_else_is_an_operation)
{
    enum operation out = OP_PING;

    cr_assert_not(operation_of(STR(""), &out));
    cr_assert_not(operation_of(STR_NONE, &out));
    cr_assert_not(operation_of(STR("Ping"), &out));
    cr_assert_not(operation_of(STR("conversation.creat"), &out));
    cr_assert_not(operation_of(STR("ping\0"), &out));
    cr_assert_eq(out, OP_PING);
}
