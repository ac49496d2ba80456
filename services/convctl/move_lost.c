#include "services/convctl/move_lost.h"

enum status move_end_alone(struct move *move, const char *org)
{
    struct db_admin *const on = move->from.admin;

    if (move_ask(move, on, SQL_OPEN, PARAMS(org, NULL)) != ST_OK ||
        move_ask(move, on, SQL_END_SENDERS, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    return move_ask_again(move, on, SQL_UNPUBLISH, PARAMS(org));
}

const char *move_left_there(struct move *move)
{
    return arena_printf(move->arena,
                        "in cell %s: a subscription, the organization's row in cell.moves, and "
                        "its rows that were copied; if the database comes back, begin the move "
                        "there again, before any other move of the organization, or abort it then",
                        move->to.name);
}
