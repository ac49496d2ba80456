#include "services/access/passwords.h"
#include "services/access/session.h"
#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"
#define USER    "01920000-0000-7000-8000-00000000000b"
#define HASH    "abababababababababababababababababababababababababababababababab"

Test(session, is_known_by_a_hash_in_lower_case)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_session_check, "{\"token_hash\":\"" HASH "\"}");
    parsed_param(&parsed, 0, HASH);
    arena_release(&parsed.arena);
    parsed_refuses(&access_session_check, "{\"token_hash\":\"AB\"}", INVALID, "token_hash");
    parsed_refuses(&access_session_check, "{}", "parameter_not_found", "token_hash");
}

Test(session, ends_by_its_token_without_an_organization_or_by_its_id_in_one)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_session_end, "{\"token_hash\":\"" HASH "\"}");
    cr_assert_eq(parsed.query->statement, SQL_END_TOKEN);
    arena_release(&parsed.arena);
    parsed_accepts(&parsed, &access_session_end, "{\"user_id\":\"" USER "\",\"id\":\"" USER "\"}");
    cr_assert_eq(parsed.query->statement, SQL_END_SESSION);
    arena_release(&parsed.arena);
    parsed_refuses(&access_session_end, "{\"user_id\":\"" USER "\"}", "parameter_not_found", "id");
    parsed_refuses(&access_session_end, "{}", "parameter_not_found", "user_id");
    parsed_needs_organization(&access_session_end,
                              "{\"user_id\":\"" USER "\",\"id\":\"" USER "\"}");
    parsed_needs_organization(&access_session_end_all, "{\"user_id\":\"" USER "\"}");
}

Test(session, commands_with_a_password_or_a_token_wipe_their_memory)
{
    const struct command_handler *const handlers[] = {&access_sign_in, &access_password,
                                                      &access_invitation, &access_user_create};
    struct parsed parsed;

    for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
        parsed_init(&parsed, STR("{}"));
        parsed_run(&parsed, handlers[i]);
        cr_expect(parsed.arena.wipes, "%s", handlers[i]->subject);
        arena_release(&parsed.arena);
    }
    parsed_init(&parsed, STR("{}"));
    parsed_run(&parsed, &access_session_check);
    cr_expect_not(parsed.arena.wipes);
    arena_release(&parsed.arena);
}

Test(session, commands_refuse_bodies_that_break_the_contract)
{
    parsed_refuses(&access_sign_in, "{\"password\":\"x\",\"address\":\"::1\",\"user_agent\":\"\"}",
                   "parameter_not_found", "email");
    parsed_refuses(
        &access_sign_in,
        "{\"email\":\"a@b\",\"password\":\"x\",\"address\":\"here\",\"user_agent\":\"\"}", INVALID,
        "address");
    parsed_refuses(&access_password,
                   "{\"user_id\":\"" USER
                   "\",\"password\":\"x\",\"new_password\":\"fourteen chars\","
                   "\"keep\":\"" HASH "\"}",
                   INVALID, "new_password");
    parsed_refuses(&access_invitation,
                   "{\"token\":\"t\",\"password\":\"fourteen chars\",\"address\":\"::1\","
                   "\"user_agent\":\"\"}",
                   INVALID, "password");
}

static struct str counted(const char *address, struct arena *arena)
{
    struct password_attempts attempts = {.n = 0};

    password_attempts_of_address(&attempts, arena, str_of(address));
    cr_assert_eq(attempts.at[0].max, 30);
    return attempts.at[0].counted;
}

Test(session, password_attempts_are_counted_by_address_or_by_half_of_an_ipv6_address)
{
    struct arena arena;

    arena_init(&arena, 1 << 20);
    cr_assert(str_equal(counted("2001:db8::1", &arena), counted("2001:db8::2:3:4:5", &arena)));
    cr_assert_not(str_equal(counted("2001:db8::1", &arena), counted("2001:db8:0:1::1", &arena)));
    cr_assert_not(str_equal(counted("192.0.2.1", &arena), counted("192.0.2.2", &arena)));
    cr_assert(str_equal(counted("192.0.2.1", &arena), counted("::ffff:192.0.2.1", &arena)));
    arena_release(&arena);
}

/* The one of an address's counters whose limit is `max`. */
static struct str counted_as(const char *address, int64_t max, struct arena *arena)
{
    struct password_attempts attempts = {.n = 0};

    password_attempts_of_address(&attempts, arena, str_of(address));
    for (size_t i = 0; i < attempts.n; i++)
        if (attempts.at[i].max == max)
            return attempts.at[i].counted;
    return STR_NONE;
}

Test(session, password_attempts_are_counted_by_networks_with_higher_bounds)
{
    static const struct {
        int64_t max;
        const char *one, *same, *other;
    } cases[] = {
        {PASSWORD_ATTEMPTS_OF_SITE, "2001:db8:1:ff01::1", "2001:db8:1:ffff::1",
         "2001:db8:1:fe00::1"},
        {PASSWORD_ATTEMPTS_OF_NETWORK, "2001:db8:1::1", "2001:db8:1:ffff::1", "2001:db8:2::1"},
        {PASSWORD_ATTEMPTS_OF_NETWORK, "192.0.2.1", "192.0.2.255", "192.0.3.1"},
    };
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct str one = counted_as(cases[i].one, cases[i].max, &arena);

        cr_assert_not_null(one.p);
        cr_expect(str_equal(one, counted_as(cases[i].same, cases[i].max, &arena)));
        cr_expect_not(str_equal(one, counted_as(cases[i].other, cases[i].max, &arena)));
    }
    arena_release(&arena);
}
