#include "services/conversation/create.h"

#include <criterion/criterion.h>

#define JUDGED(...) create_decide(&(struct create_found){__VA_ARGS__})

Test(create_rules, report_the_created_conversation)
{
    cr_assert_eq(JUDGED(.is_created = true), CREATE_MADE);
    cr_assert_eq(JUDGED(.is_created = true, .contact_is_known = true), CREATE_MADE);
}

Test(create_rules, replay_for_the_same_contact_only)
{
    cr_assert_eq(JUDGED(.exists = true, .contact_is_known = true, .is_same_contact = true),
                 CREATE_REPLAYED);
    cr_assert_eq(JUDGED(.exists = true, .contact_is_known = true), CREATE_EXTERNAL_ID_TAKEN);
    cr_assert_eq(JUDGED(.exists = true), CREATE_EXTERNAL_ID_TAKEN);
}

Test(create_rules, ignore_a_taken_profile_in_a_replay)
{
    cr_assert_eq(JUDGED(.exists = true, .contact_is_known = true, .is_same_contact = true,
                        .email_is_taken = true, .phone_is_taken = true),
                 CREATE_REPLAYED);
}

Test(create_rules, keep_the_external_id_of_a_deleted_conversation_taken)
{
    cr_assert_eq(JUDGED(.exists = true, .is_deleted = true, .contact_is_known = true,
                        .is_same_contact = true),
                 CREATE_EXTERNAL_ID_TAKEN);
}

Test(create_rules, put_an_erased_customer_before_everything)
{
    cr_assert_eq(JUDGED(.exists = true, .is_erased = true), CREATE_CUSTOMER_UNAVAILABLE);
    cr_assert_eq(
        JUDGED(.exists = true, .is_erased = true, .is_deleted = true, .email_is_taken = true),
        CREATE_CUSTOMER_UNAVAILABLE);
    cr_assert_eq(JUDGED(.exists = true, .is_erased = true, .names_contact_by_id = true),
                 CREATE_CUSTOMER_UNAVAILABLE);
}

Test(create_rules, put_an_unknown_id_before_a_conflict)
{
    cr_assert_eq(JUDGED(.names_contact_by_id = true), CREATE_CONTACT_UNKNOWN);
    cr_assert_eq(JUDGED(.names_contact_by_id = true, .exists = true), CREATE_CONTACT_UNKNOWN);
    cr_assert_eq(JUDGED(.names_contact_by_id = true, .exists = true, .contact_is_known = true),
                 CREATE_EXTERNAL_ID_TAKEN);
    cr_assert_eq(JUDGED(.names_contact_by_id = true, .email_is_taken = true),
                 CREATE_CONTACT_UNKNOWN);
}

Test(create_rules, put_the_external_id_before_the_profile)
{
    cr_assert_eq(JUDGED(.exists = true, .contact_is_known = true, .email_is_taken = true),
                 CREATE_EXTERNAL_ID_TAKEN);
    cr_assert_eq(JUDGED(.email_is_taken = true), CREATE_PROFILE_TAKEN);
    cr_assert_eq(JUDGED(.phone_is_taken = true, .contact_is_known = true), CREATE_PROFILE_TAKEN);
}

Test(create_rules, call_it_a_race_when_nothing_stood_in_the_way)
{
    cr_assert_eq(JUDGED(.contact_is_known = true), CREATE_RACED);
    cr_assert_eq(JUDGED(.contact_is_known = false), CREATE_RACED);
}
