#include "services/migrate/plan.h"

#include <criterion/criterion.h>

static const struct applied applied[] = {
    {"access", 1, "aa"},
    {"access", 3, "cc"},
    {"search", 7, "gg"},
};

static enum plan_state state_of(const char *service, int number, const char *checksum)
{
    const struct migration migration = {service, number, "title", checksum, "SELECT 1"};

    return plan_state(&migration, applied, 3);
}

Test(plan, skips_migrations_that_were_applied_with_the_same_text)
{
    cr_assert_eq(state_of("access", 1, "aa"), PLAN_APPLIED);
}

Test(plan, sees_that_an_applied_file_was_changed)
{
    cr_assert_eq(state_of("access", 1, "ab"), PLAN_CHANGED);
}

Test(plan, applies_migrations_that_follow_all_applied_ones)
{
    cr_assert_eq(state_of("access", 4, "dd"), PLAN_PENDING);
}

Test(plan, refuses_what_would_be_inserted_before_an_applied_one)
{
    cr_assert_eq(state_of("access", 2, "bb"), PLAN_LATE);
}

Test(plan, numbers_each_service_by_itself)
{
    cr_assert_eq(state_of("audit", 1, "aa"), PLAN_PENDING);
}

Test(plan, applies_everything_to_an_empty_database)
{
    const struct migration migration = {"access", 1, "title", "aa", "SELECT 1"};

    cr_assert_eq(plan_state(&migration, NULL, 0), PLAN_PENDING);
}
