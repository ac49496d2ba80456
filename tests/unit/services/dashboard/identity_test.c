#include "services/dashboard/dashboard_session.h"

#include <criterion/criterion.h>

#define ID "01a1fa21-7fb5-72c5-bf9a-5567eac050dd"
#define ANSWER(id, email, role, organization)                                                      \
    "{\"user\":{\"id\":\"" id "\",\"email\":\"" email "\",\"role\":\"" role                        \
    "\"},\"organization\":{\"id\":\"" organization "\"}}"

Test(identity, is_what_access_says)
{
    struct identity who;

    cr_assert(identity_read(STR(ANSWER(ID, "a@b.example", "admin", ID)), &who));
    cr_expect_str_eq(who.email, "a@b.example");
    cr_expect_str_eq(who.user_id, ID);
    cr_expect_str_eq(who.organization_id, ID);
    cr_expect_eq(who.role, ROLE_ADMIN);
    identity_release(&who);
}

Test(identity, is_none_when_anything_is_missing_or_odd)
{
    static const char *const odd[] = {
        "",
        "{}",
        "[]",
        ANSWER("", "a@b.example", "admin", ID),
        ANSWER(ID, "", "admin", ID),
        ANSWER(ID, "a@b.example", "root", ID),
        ANSWER(ID, "a@b.example", "", ID),
        ANSWER(ID, "a@b.example", "admin", ""),
        ANSWER(ID, "a@b\\r\\nX: y", "admin", ID),
        ANSWER("x", "a@b.example", "admin", ID),
    };
    struct identity who;

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        cr_expect_not(identity_read(str_of(odd[i]), &who), "%s", odd[i]);
}
