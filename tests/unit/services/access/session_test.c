#include "services/access/attempts.h"
#include "services/access/session.h"
#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"
#define USER    "01920000-0000-7000-8000-00000000000b"
#define HASH    "abababababababababababababababababababababababababababababababab"

Test(session, is_known_by_a_hash_in_lower_case)
{
    struct judged judged;

    judged_accepts(&judged, session_check_judge, "{\"token_hash\":\"" HASH "\"}");
    judged_param(&judged, 0, HASH);
    arena_release(&judged.arena);
    judged_refuses(session_check_judge, "{\"token_hash\":\"AB\"}", INVALID, "token_hash");
    judged_refuses(session_check_judge, "{}", "parameter_not_found", "token_hash");
}

Test(session, ends_by_its_token_without_an_organization_or_by_its_id_in_one)
{
    struct judged judged;

    judged_accepts(&judged, session_end_judge, "{\"token_hash\":\"" HASH "\"}");
    cr_assert_eq(judged.ask->statement, SQL_END_TOKEN);
    arena_release(&judged.arena);
    judged_accepts(&judged, session_end_judge, "{\"user_id\":\"" USER "\",\"id\":\"" USER "\"}");
    cr_assert_eq(judged.ask->statement, SQL_END_SESSION);
    arena_release(&judged.arena);
    judged_refuses(session_end_judge, "{\"user_id\":\"" USER "\"}", "parameter_not_found", "id");
    judged_refuses(session_end_judge, "{}", "parameter_not_found", "user_id");
    judged_needs_organization(session_end_judge, "{\"user_id\":\"" USER "\",\"id\":\"" USER "\"}");
    judged_needs_organization(session_end_all_judge, "{\"user_id\":\"" USER "\"}");
}

Test(session, commands_refuse_bodies_that_break_the_contract)
{
    judged_refuses(sign_in_judge, "{\"password\":\"x\",\"address\":\"::1\",\"user_agent\":\"\"}",
                   "parameter_not_found", "email");
    judged_refuses(
        sign_in_judge,
        "{\"email\":\"a@b\",\"password\":\"x\",\"address\":\"here\",\"user_agent\":\"\"}", INVALID,
        "address");
    judged_refuses(password_judge,
                   "{\"user_id\":\"" USER "\",\"password\":\"x\",\"new_password\":\"1234567\","
                   "\"keep\":\"" HASH "\"}",
                   INVALID, "new_password");
    judged_refuses(invitation_judge,
                   "{\"token\":\"t\",\"password\":\"1234567\",\"address\":\"::1\","
                   "\"user_agent\":\"\"}",
                   INVALID, "password");
}

static struct str counted(const char *address, struct arena *arena)
{
    struct attempts attempts = {.n = 0};

    attempts_of_address(&attempts, arena, str_of(address));
    cr_assert_eq(attempts.at[0].most, 30);
    return attempts.at[0].counted;
}

Test(session, attempts_are_counted_by_address_or_by_half_of_an_ipv6_address)
{
    struct arena arena;

    arena_init(&arena, 1 << 20);
    cr_assert(str_equal(counted("2001:db8::1", &arena), counted("2001:db8::2:3:4:5", &arena)));
    cr_assert_not(str_equal(counted("2001:db8::1", &arena), counted("2001:db8:0:1::1", &arena)));
    cr_assert_not(str_equal(counted("192.0.2.1", &arena), counted("192.0.2.2", &arena)));
    cr_assert(str_equal(counted("192.0.2.1", &arena), counted("::ffff:192.0.2.1", &arena)));
    arena_release(&arena);
}
