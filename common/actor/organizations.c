#include "common/actor/actor_internal.h"
#include "common/db/array.h"

/* Requests to the API got their organization from a key, and what asks for nothing needs none. */
static bool names_organization(const struct batch_item *item)
{
    const struct command *command = &item->command;

    return item->status == ST_OK && command->route->operation == OP_NONE && command->route->query &&
           !uuid_is_nil(&command->caller.organization_id);
}

static db_param organizations_of(struct batch_item *const *items, size_t n, struct arena *arena)
{
    struct buf ids;

    array_open(&ids, arena, 2 + n * (UUID_TEXT + 1));
    for (size_t i = 0; i < n; i++)
        array_add_id(&ids, &items[i]->command.caller.organization_id);
    return array_close(&ids);
}

enum status organizations_look_up(struct actor *actor, struct batch_item *const *items, size_t n)
{
    struct batch_item **named = ARENA_ARRAY(&actor->arena, struct batch_item *, n);
    const struct db_rows *rows;
    size_t n_named = 0, found;
    db_param organizations;
    enum status st;

    for (size_t i = 0; actor->service->looks_up_organizations && i < n; i++)
        if (names_organization(items[i]))
            named[n_named++] = items[i];
    if (n_named == 0)
        return ST_OK;
    organizations = organizations_of(named, n_named, &actor->arena);
    found = db_add(actor->db, actor->find_organizations, &organizations, 1);
    st = db_run(actor->db);
    if (st != ST_OK)
        return st;
    rows = db_result(actor->db, found);
    for (size_t i = 0; i < n_named; i++)
        if (!db_value_bool(rows, i, 0))
            named[i]->status = command_refuse(&named[i]->command, OUTCOME_NOT_FOUND, NULL,
                                              "The organization does not exist");
    return ST_OK;
}
