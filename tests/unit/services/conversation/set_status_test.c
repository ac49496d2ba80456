#include "services/conversation/conversation.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/model/conversation_model.h"

/* The statuses that each status may change to. */
static const struct {
    const char *from;
    const char *to[6];
} allowed[] = {
    {"active", {"waiting", "human_takeover", "resolved"}},
    {"waiting", {"active", "human_takeover", "resolved"}},
    {"human_takeover", {"active", "waiting", "resolved"}},
    {"resolved", {"active", "archived"}},
    {"archived", {"resolved"}},
    {"closed", {"active", "archived"}},
};

static bool is_allowed(size_t row, const char *to)
{
    for (size_t i = 0; allowed[row].to[i] != NULL; i++) {
        if (strcmp(allowed[row].to[i], to) == 0)
            return true;
    }
    return false;
}

Test(set_status, rules_allow_the_moves_of_the_table_and_no_others)
{
    for (size_t row = 0; row < ARRAY_SIZE(allowed); row++) {
        for (size_t i = 0; conversation_status_names[i] != NULL; i++)
            cr_expect_eq(conversation_status_may_become(str_of(allowed[row].from),
                                                        str_of(conversation_status_names[i])),
                         is_allowed(row, conversation_status_names[i]), "%s to %s",
                         allowed[row].from, conversation_status_names[i]);
        cr_expect_not(conversation_status_may_become(str_of(allowed[row].from), STR("closed")));
    }
}

Test(set_status, rules_list_the_previous_statuses_of_a_status)
{
    struct arena arena;

    arena_init(&arena, 1 << 20);
    cr_assert(str_equal(conversation_status_sources(&arena, STR("active")),
                        STR("{waiting,human_takeover,resolved,closed}")));
    cr_assert(
        str_equal(conversation_status_sources(&arena, STR("archived")), STR("{resolved,closed}")));
    cr_assert(str_equal(conversation_status_sources(&arena, STR("closed")), STR("{}")));
    arena_release(&arena);
}

Test(set_status, rules_read_the_legacy_status_as_resolved)
{
    cr_assert(conversation_status_is_same(STR("closed"), STR("resolved")));
    cr_assert(conversation_status_is_same(STR("active"), STR("active")));
    cr_assert_not(conversation_status_is_same(STR("closed"), STR("archived")));
}
