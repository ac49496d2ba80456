#include "services/conversation/create.h"

#include <criterion/criterion.h>

#define SOME "01920000-0000-7000-8000-000000000001"

struct sample {
    const char *organization, *external_id, *contact, *contact_id, *name, *email, *phone;
};

static struct create_command creates[4];
static struct create_command *pointers[4];

/* How many of these form the first group. */
static size_t grouped(const struct sample *samples, size_t n)
{
    static const char *const new_ids[] = {"k0", "k1", "k2", "k3"};

    for (size_t i = 0; i < n; i++) {
        creates[i] = (struct create_command){
            .organization_id = str_of(samples[i].organization ? samples[i].organization : "o1"),
            .body = {.external_id = str_of(samples[i].external_id),
                     .from = {.external_id = str_of(samples[i].contact),
                              .id = str_of(samples[i].contact_id),
                              .name = str_of(samples[i].name),
                              .email = str_of(samples[i].email),
                              .phone = str_of(samples[i].phone)}},
            .new_contact_id = str_of(new_ids[i]),
        };
        pointers[i] = &creates[i];
    }
    return create_group(pointers, n);
}

#define GROUPED(...)                                                                               \
    grouped((const struct sample[]){__VA_ARGS__},                                                  \
            sizeof((const struct sample[]){__VA_ARGS__}) / sizeof(struct sample))

Test(create_groups, put_strangers_together)
{
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .email = "a"},
                         {.external_id = "e2", .contact = "u2", .email = "b"},
                         {.external_id = "e3", .contact = "u3"}),
                 3);
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1"}), 1);
    cr_assert(str_equal(creates[0].new_contact_id, STR("k0")));
}

Test(create_groups, keep_creates_for_one_conversation_apart)
{
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1"},
                         {.external_id = "e2", .contact = "u2"},
                         {.external_id = "e1", .contact = "u1"}),
                 2);
}

Test(create_groups, give_one_contact_one_new_id)
{
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .name = "Ann", .email = "a"},
                         {.external_id = "e2", .contact = "u2"},
                         {.external_id = "e3", .contact = "u1", .name = "Ann", .email = "a"}),
                 3);
    cr_assert(str_equal(creates[1].new_contact_id, STR("k1")));
    cr_assert(str_equal(creates[2].new_contact_id, STR("k0")));
}

Test(create_groups, keep_two_profiles_of_one_contact_apart)
{
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .name = "Ann"},
                         {.external_id = "e2", .contact = "u1", .name = "Bea"}),
                 1);
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .name = ""},
                         {.external_id = "e2", .contact = "u1"}),
                 1);
}

Test(create_groups, keep_contacts_that_want_the_same_email_or_phone_apart)
{
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .email = "a"},
                         {.external_id = "e2", .contact = "u2", .email = "a"}),
                 1);
    cr_assert_eq(GROUPED({.external_id = "e1", .contact = "u1", .phone = "1"},
                         {.external_id = "e2", .contact = "u2", .phone = "1"}),
                 1);
}

Test(create_groups, keep_the_two_ways_to_name_a_contact_apart)
{
    cr_assert_eq(
        GROUPED({.external_id = "e1", .contact = "u1"}, {.external_id = "e2", .contact_id = SOME}),
        1);
    cr_assert_eq(GROUPED({.external_id = "e1", .contact_id = SOME},
                         {.external_id = "e2", .contact_id = SOME}),
                 2);
}

Test(create_groups, keep_organizations_independent)
{
    cr_assert_eq(GROUPED({.organization = "o1", .external_id = "e1", .contact = "u1", .email = "a"},
                         {.organization = "o2", .external_id = "e1", .contact = "u1", .email = "a"},
                         {.organization = "o3", .external_id = "e1", .contact_id = SOME}),
                 3);
    cr_assert(str_equal(creates[1].new_contact_id, STR("k1")));
}
