#include "tests/support/large_page.h"

#include <criterion/criterion.h>

#include "tests/support/sql.h"

void large_page_make(const struct org *org, const char *code_point)
{
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id,"
                    " external_id, contact_id, channel, status, custom_attributes, created_at,"
                    " updated_at) SELECT organization_id, gen_random_uuid(), 'e' || i, contact_id,"
                    " channel, status, (SELECT jsonb_object_agg('k' || k,"
                    " repeat(chr($2::integer), 500)) FROM generate_series(1, 20) k), created_at,"
                    " updated_at FROM conversation.conversations, generate_series(1, 100) i"
                    " WHERE organization_id = $1::uuid RETURNING 1) SELECT count(*) FROM made",
                    org->id, code_point, NULL),
        100);
}
