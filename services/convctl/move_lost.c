#include "services/convctl/move_lost.h"

enum status move_note_slots(struct move *move, const char *org)
{
    const char *slots;

    if (move_ask(move, move->to.admin, SQL_READ_SYNC_SLOTS, NULL, 0) != ST_OK)
        return ST_REFUSED;
    slots = arena_printf(move->arena, "%s", move_answered(move->to.admin, READ_SYNC_SLOTS_SLOTS));
    return move_ask(move, move->from.admin, SQL_NOTE_SLOTS, PARAMS(org, slots));
}

enum status move_end_alone(struct move *move, const char *org)
{
    struct db_admin *const on = move->from.admin;

    if (move_ask(move, on, SQL_OPEN, PARAMS(org)) != ST_OK ||
        move_ask(move, on, SQL_END_SENDERS, PARAMS(org)) != ST_OK ||
        move_ask_again(move, on, SQL_DROP_NOTED_SLOTS, PARAMS(org)) != ST_OK)
        return ST_REFUSED;
    return move_ask_again(move, on, SQL_UNPUBLISH, PARAMS(org));
}

const char *move_left_there(struct move *move)
{
    return arena_printf(move->arena,
                        "in cell %s: a subscription, the organization's row in audit.moving, and "
                        "its rows that were copied; if the database comes back, begin the move "
                        "there again and abort it, before any other move of the organization",
                        move->to.name);
}
