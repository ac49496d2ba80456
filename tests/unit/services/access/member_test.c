#include "common/base/ascii.h"
#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"
#define USER    "01920000-0000-7000-8000-00000000000b"
#define NOBODY  "00000000-0000-0000-0000-000000000000"

/* Parameters of the statements. The first is the organization. */
enum { ID = 1, EMAIL = 2, ROLE, HASH, BY_ROLE };

Test(member, is_invited_with_a_secret_that_is_known_by_its_hash)
{
    struct parsed parsed;
    uint8_t hash[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    parsed_accepts(&parsed, &access_member_invite,
                   "{\"email\":\"A@Example.ORG\",\"role\":\"admin\",\"by_role\":\"admin\"}");
    parsed_param(&parsed, EMAIL, "a@example.org");
    parsed_param(&parsed, ROLE, "admin");
    parsed_param(&parsed, BY_ROLE, "admin");
    cr_assert_str_eq(parsed.query->secret_name, "invitation");
    cr_assert_eq(parsed.query->secret.n, 43);
    crypto_sha256(parsed.query->secret, hash);
    hex_write(hash, sizeof(hash), hex);
    parsed_param(&parsed, HASH, hex);
    arena_release(&parsed.arena);
}

Test(member, can_be_made_an_owner_only_by_owners_and_operators)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_member_set, "{\"id\":\"" USER "\",\"role\":\"owner\"}");
    parsed_param(&parsed, ID, USER);
    parsed_param(&parsed, 3, NULL);
    cr_assert(parsed.query->has_lock);
    cr_assert_neq(parsed.command.lock_order, 0);
    arena_release(&parsed.arena);
    parsed_accepts(&parsed, &access_member_set,
                   "{\"id\":\"" USER "\",\"role\":\"owner\",\"by_role\":\"owner\"}");
    arena_release(&parsed.arena);
    parsed_refuses(&access_member_set,
                   "{\"id\":\"" USER "\",\"role\":\"owner\",\"by_role\":\"admin\"}",
                   "insufficient_role", NULL);
    parsed_refuses(&access_member_set,
                   "{\"id\":\"" USER "\",\"role\":\"member\",\"by_role\":\"member\"}",
                   "insufficient_role", NULL);
}

Test(member, is_not_found_if_the_id_is_in_capitals)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_member_remove,
                   "{\"id\":\"01920000-0000-7000-8000-00000000000B\"}");
    parsed_param(&parsed, ID, NOBODY);
    arena_release(&parsed.arena);
}

Test(member, commands_refuse_bodies_that_break_the_contract)
{
    parsed_refuses(&access_member_invite, "{\"email\":\"a\",\"role\":\"admin\"}", INVALID, "email");
    parsed_refuses(&access_member_invite, "{\"email\":\"a@b\"}", "parameter_not_found", "role");
    parsed_refuses(&access_member_set, "{\"id\":\"" USER "\",\"role\":\"root\"}", INVALID, "role");
    parsed_refuses(&access_member_set, "{\"id\":\"x\",\"role\":\"admin\"}", INVALID, "id");
    parsed_refuses(&access_member_remove, "{}", "parameter_not_found", "id");
    parsed_refuses(&access_member_remove, "{\"id\":\"" USER "\",\"by_role\":\"god\"}", INVALID,
                   "by_role");
    parsed_needs_organization(&access_member_list, "");
    parsed_needs_organization(&access_member_remove, "{\"id\":\"" USER "\"}");
}
