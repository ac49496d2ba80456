#include "tests/unit/services/access/parse_fixture.h"

Test(move, names_a_cell_when_it_begins_and_only_then)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_move_set, "{\"step\":\"copying\",\"to\":\"second\"}");
    cr_assert_eq(parsed.query->statement, SQL_SET_MOVE);
    parsed_param(&parsed, 1, "copying");
    parsed_param(&parsed, 2, "second");
    arena_release(&parsed.arena);
    parsed_accepts(&parsed, &access_move_set, "{\"step\":\"switched\"}");
    parsed_param(&parsed, 1, "switched");
    arena_release(&parsed.arena);
    parsed_refuses(&access_move_set, "{\"step\":\"copying\"}", "parameter_not_found", "to");
    parsed_refuses(&access_move_set, "{\"step\":\"copying\",\"to\":\"third\"}", "parameter_invalid",
                   "to");
    parsed_refuses(&access_move_set, "{\"step\":\"copying\",\"to\":\"\"}", "parameter_invalid",
                   "to");
    parsed_refuses(&access_move_set, "{\"step\":\"done\",\"to\":\"second\"}", "parameter_invalid",
                   "to");
    parsed_refuses(&access_move_set, "{\"step\":\"gone\"}", "parameter_invalid", "step");
    parsed_refuses(&access_move_set, "{}", "parameter_not_found", "step");
}
