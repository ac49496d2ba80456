#include "common/base/str.h"
#include "services/convctl/convctl_call.h"

#include <criterion/criterion.h>
#include <string.h>

Test(convctl_call, has_the_documented_fields_of_the_operators_interface)
{
    static const char *const promised[][2] = {
        {"org", "create"},
        {"org", "get"},
        {"org", "list"},
        {"org", "set"},
        {"key", "create"},
        {"key", "list"},
        {"key", "revoke"},
        {"key", "rotate"},
        {"policy", "get"},
        {"policy", "set"},
        {"conversation", "open"},
        {"conversation", "append"},
        {"conversation", "set-status"},
        {"conversation", "delete"},
        {"contact", "erase"},
        {"user", "create"},
        {"audit", "verify"},
        {"webhook", "create"},
        {"webhook", "list"},
        {"webhook", "deliveries"},
        {"webhook", "resend"},
        {"webhook", "delete"},
        {"event", "publish"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(promised); i++)
        cr_expect_not_null(convctl_call_find(promised[i][0], promised[i][1]), "%s %s",
                           promised[i][0], promised[i][1]);
}

Test(convctl_call, describes_every_argument_whole)
{
    for (size_t i = 0; i < convctl_calls_count; i++) {
        for (size_t j = 0; convctl_calls[i].arguments[j].kind != ARGUMENT_NONE; j++) {
            const struct argument *argument = &convctl_calls[i].arguments[j];

            cr_expect(argument->option != NULL || argument->label != NULL);
            cr_expect_eq(argument->field == NULL, argument->kind == ARGUMENT_ORGANIZATION);
            cr_expect_eq(argument->label == NULL, argument->kind == ARGUMENT_STDIN ||
                                                      argument->kind == ARGUMENT_OFF ||
                                                      argument->kind == ARGUMENT_EMPTY);
            cr_expect(argument->option != NULL || argument->required,
                      "a position that may be left out moves those behind it");
        }
    }
}

Test(convctl_call, says_of_each_argument_what_kind_it_is)
{
    for (size_t i = 0; i < convctl_calls_count; i++) {
        const struct argument *arguments = convctl_calls[i].arguments;

        for (size_t j = 0; j <= CONVCTL_ARGUMENTS_MAX; j++)
            cr_expect_eq(arguments[j].kind == ARGUMENT_NONE,
                         arguments[j].option == NULL && arguments[j].label == NULL, "%s %s",
                         convctl_calls[i].group, convctl_calls[i].verb);
        cr_expect_eq(arguments[CONVCTL_ARGUMENTS_MAX].kind, ARGUMENT_NONE);
    }
}
