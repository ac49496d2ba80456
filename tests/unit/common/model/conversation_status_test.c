#include "common/model/conversation_status.h"

#include <criterion/criterion.h>
#include <string.h>

static bool is_settable(const char *status)
{
    for (size_t i = 0; conversation_status_names[i] != NULL; i++)
        if (strcmp(conversation_status_names[i], status) == 0)
            return true;
    return false;
}

Test(conversation_status, can_be_stored_as_all_that_can_be_set_and_as_the_legacy_one)
{
    size_t n_settable = 0;

    while (conversation_status_names[n_settable] != NULL)
        n_settable++;
    cr_assert_eq(n_settable + 1, CONVERSATION_STORED_STATUSES);
    for (size_t i = 0; i < CONVERSATION_STORED_STATUSES; i++)
        cr_assert_eq(is_settable(conversation_stored_statuses[i]),
                     strcmp(conversation_stored_statuses[i], "closed") != 0);
}

Test(conversation_status, is_shown_as_one_that_can_be_set)
{
    for (size_t i = 0; i < CONVERSATION_STORED_STATUSES; i++) {
        struct str stored = str_of(conversation_stored_statuses[i]);

        cr_assert(is_settable(conversation_status_shown(stored).p));
        if (is_settable(stored.p))
            cr_assert(str_equal(conversation_status_shown(stored), stored));
    }
    cr_assert(str_equal(conversation_status_shown(STR("closed")), STR("resolved")));
}

Test(conversation_status, belongs_to_the_open_state_or_the_closed_one)
{
    static const struct {
        const char *status, *state;
    } expected[] = {
        {"active", "open"},     {"waiting", "open"},    {"human_takeover", "open"},
        {"resolved", "closed"}, {"archived", "closed"}, {"closed", "closed"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        struct str status = str_of(expected[i].status), state = str_of(expected[i].state);

        cr_assert(str_equal(conversation_state(status), state), "%s", status.p);
        cr_assert_eq(conversation_status_is_open(status), str_equal(state, STR("open")));
    }
    cr_assert_str_eq(conversation_state_names[0], "open");
    cr_assert_str_eq(conversation_state_names[1], "closed");
    cr_assert_null(conversation_state_names[2]);
}
