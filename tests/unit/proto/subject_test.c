#include "proto/subject.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/str.h"

/* The directory and the edge use the same subjects for all cells. */
static const char *const of_none[] = {
    SUBJECT_ACCESS_AUTHENTICATE, SUBJECT_ACCESS_ORG_GET, SUBJECT_SESSION_SIGN_IN,
    SUBJECT_USAGE_READ,          SUBJECT_NOTICE_ACCESS,  BUS_CLOCK_SUBJECT,
    BUS_STATS_SUBJECT,
};

static const struct {
    const char *subject, *in_b;
} of_cell[] = {
    {SUBJECT_CONVERSATION_CREATE, "v1.b.conversation.create"},
    {SUBJECT_CONVERSATION, "v1.b.conversation.*"},
    {SUBJECT_INBOX_LIST, "v1.b.inbox.list"},
    {SUBJECT_SEARCH_CONVERSATIONS, "v1.b.search.conversations"},
    {SUBJECT_AUDIT_APPEND, "v1.b.audit.append"},
    {SUBJECT_WEBHOOK_PUBLISH, "v1.b.webhook.publish"},
    {SUBJECT_NOTICE_EVENTS, "v1.b.notice.events"},
    {SUBJECT_NOTICE_AUDIT_HEAD, "v1.b.notice.audit-head"},
};

Test(subject, is_the_same_in_the_cell_main)
{
    char out[CELL_SUBJECT_CAPACITY];

    for (size_t i = 0; i < ARRAY_SIZE(of_cell); i++) {
        cr_expect_eq(subject_in_cell(of_cell[i].subject, "main", out), of_cell[i].subject);
        cr_expect_eq(subject_in_cell(of_cell[i].subject, NULL, out), of_cell[i].subject);
    }
}

Test(subject, has_the_name_of_another_cell_after_the_version)
{
    char out[CELL_SUBJECT_CAPACITY];

    for (size_t i = 0; i < ARRAY_SIZE(of_cell); i++) {
        cr_expect(subject_is_of_cell(of_cell[i].subject), "%s", of_cell[i].subject);
        cr_expect_str_eq(subject_in_cell(of_cell[i].subject, "b", out), of_cell[i].in_b);
    }
}

Test(subject, of_the_directory_is_of_no_cell)
{
    char out[CELL_SUBJECT_CAPACITY];

    for (size_t i = 0; i < ARRAY_SIZE(of_none); i++) {
        cr_expect_not(subject_is_of_cell(of_none[i]), "%s", of_none[i]);
        cr_expect_eq(subject_in_cell(of_none[i], "b", out), of_none[i]);
    }
}

Test(subject, of_each_user_of_a_cell_is_of_a_cell)
{
    static const char *const expected[] = {"conversation", "search", "audit", "webhook"};

    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        bool is_expected = false;

        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
            is_expected |= strcmp(expected[i], bus_user_name(user)) == 0;
        cr_expect_eq(bus_user_is_of_cell(user), is_expected, "%s", bus_user_name(user));
    }
}
