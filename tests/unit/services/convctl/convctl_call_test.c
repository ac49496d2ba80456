#include "common/base/str.h"
#include "services/convctl/convctl_call.h"

#include <criterion/criterion.h>
#include <string.h>

Test(convctl_call, has_what_the_operators_interface_promises)
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
        for (size_t j = 0; j < convctl_calls[i].n; j++) {
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

Test(convctl_call, counts_its_arguments)
{
    for (size_t i = 0; i < convctl_calls_count; i++) {
        size_t n = 0;

        while (n < CONVCTL_ARGUMENTS_MAX && (convctl_calls[i].arguments[n].option != NULL ||
                                             convctl_calls[i].arguments[n].label != NULL))
            n++;
        cr_expect_eq(convctl_calls[i].n, n, "%s %s", convctl_calls[i].group, convctl_calls[i].verb);
    }
}
