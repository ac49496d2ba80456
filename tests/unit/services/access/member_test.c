#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"
#define USER    "01920000-0000-7000-8000-00000000000b"
#define NOBODY  "00000000-0000-0000-0000-000000000000"

/* Parameters of the statements, the organization being the first. */
enum { ID = 1, EMAIL = 2, ROLE, HASH, BY_ROLE };

Test(member, is_invited_with_a_secret_that_is_known_by_its_hash)
{
    struct judged judged;
    uint8_t hash[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    judged_accepts(&judged, member_invite_judge,
                   "{\"email\":\"A@Example.ORG\",\"role\":\"admin\",\"by_role\":\"admin\"}");
    judged_param(&judged, EMAIL, "a@example.org");
    judged_param(&judged, ROLE, "admin");
    judged_param(&judged, BY_ROLE, "admin");
    cr_assert_str_eq(judged.ask->secret_name, "invitation");
    cr_assert_eq(judged.ask->secret.n, 43);
    crypto_sha256(judged.ask->secret, hash);
    crypto_hex(hash, sizeof(hash), hex);
    judged_param(&judged, HASH, hex);
    arena_release(&judged.arena);
}

Test(member, may_be_made_an_owner_by_owners_and_operators_alone)
{
    struct judged judged;

    judged_accepts(&judged, member_set_judge, "{\"id\":\"" USER "\",\"role\":\"owner\"}");
    judged_param(&judged, ID, USER);
    judged_param(&judged, 3, NULL);
    cr_assert(judged.ask->locks);
    cr_assert_neq(judged.command.lock_order, 0);
    arena_release(&judged.arena);
    judged_accepts(&judged, member_set_judge,
                   "{\"id\":\"" USER "\",\"role\":\"owner\",\"by_role\":\"owner\"}");
    arena_release(&judged.arena);
    judged_refuses(member_set_judge,
                   "{\"id\":\"" USER "\",\"role\":\"owner\",\"by_role\":\"admin\"}",
                   "insufficient_role", NULL);
    judged_refuses(member_set_judge,
                   "{\"id\":\"" USER "\",\"role\":\"member\",\"by_role\":\"member\"}",
                   "insufficient_role", NULL);
}

Test(member, is_nobody_when_the_id_is_in_capitals)
{
    struct judged judged;

    judged_accepts(&judged, member_remove_judge,
                   "{\"id\":\"01920000-0000-7000-8000-00000000000B\"}");
    judged_param(&judged, ID, NOBODY);
    arena_release(&judged.arena);
}

Test(member, commands_refuse_bodies_that_break_the_contract)
{
    judged_refuses(member_invite_judge, "{\"email\":\"a\",\"role\":\"admin\"}", INVALID, "email");
    judged_refuses(member_invite_judge, "{\"email\":\"a@b\"}", "parameter_not_found", "role");
    judged_refuses(member_set_judge, "{\"id\":\"" USER "\",\"role\":\"root\"}", INVALID, "role");
    judged_refuses(member_set_judge, "{\"id\":\"x\",\"role\":\"admin\"}", INVALID, "id");
    judged_refuses(member_remove_judge, "{}", "parameter_not_found", "id");
    judged_refuses(member_remove_judge, "{\"id\":\"" USER "\",\"by_role\":\"god\"}", INVALID,
                   "by_role");
    judged_needs_organization(member_list_judge, "");
    judged_needs_organization(member_remove_judge, "{\"id\":\"" USER "\"}");
}
