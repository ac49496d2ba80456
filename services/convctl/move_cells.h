/*
 * move_cells - the databases of the two cells that an organization moves between, and what is asked there.
 *
 * Owns     The connections, from move_open_cells() to move_close_cells(). Texts of failures are in the arena.
 * Threads  One thread.
 * Fails    ST_REFUSED or false, with the failure filled.
 */
#ifndef SERVICES_CONVCTL_MOVE_CELLS_H
#define SERVICES_CONVCTL_MOVE_CELLS_H

#include "common/base/cell.h"
#include "common/db/db_admin.h"
#include "convctl_sql.h"
#include "services/convctl/bus_client.h"

struct cell {
    char name[CELL_CAPACITY];
    struct db_admin *admin, *snapshot; /* the second holds the moment at which it was closed */
};

struct move {
    const struct bus_client_request *request;
    struct bus_client *bus;
    struct arena *arena;
    struct convctl_failure *failure;
    struct cell from, to;
    char step[16]; /* of the directory; "" = no move */
    const char *from_url;
    int give_up_s; /* for so long it may stand still */
    bool
        is_lost; /* the other cell's database is not to be had, and the move is aborted without it */
    bool is_held;     /* closed for good in the one cell, and not open yet in the other */
    bool shows_steps; /* on standard error: a person waits for it at a terminal */
    int64_t closed_us, closed_ms, rows;
};

enum status move_failed(struct move *move, const char *code, const char *message);
void move_pause(int ms);
/* A line that says what the move does now; printed where move->shows_steps. */
void move_show(const struct move *move, const char *step);

/* `databases`: see cell_move.h. `may_lack`: where the database of the cell that it goes to is not to be had,
   move->is_lost, and move->to has no connections. */
MUST_CHECK enum status move_open_cells(struct move *move, const char *databases, bool may_lack);
void move_close_cells(struct move *move); /* those that are open */

#define PARAMS(...)                                                                                \
    ((const char *const[]){__VA_ARGS__}), ARRAY_SIZE(((const char *const[]){__VA_ARGS__}))

/* The parameters as text; NULL is SQL NULL. */
MUST_CHECK enum status move_ask(struct move *move, struct db_admin *on, enum convctl_sql statement,
                                const char *const *params, size_t n);
/* The same in the databases of both cells, which work at the same time. */
MUST_CHECK enum status move_ask_both(struct move *move, struct db_admin *from, struct db_admin *to,
                                     enum convctl_sql statement, const char *const *params,
                                     size_t n);
/* The same as move_ask(), again and again for a while where a lock is not to be had or a slot is still in use. */
MUST_CHECK enum status move_ask_again(struct move *move, struct db_admin *on,
                                      enum convctl_sql statement, const char *const *params,
                                      size_t n);
/* The same as move_ask(), for move->give_up_s at most: the failure's code is "timeout" then. */
MUST_CHECK enum status move_ask_within(struct move *move, struct db_admin *on,
                                       enum convctl_sql statement, const char *const *params,
                                       size_t n);
/* Of the first row; "" where there is none, or a NULL. Lives until the next statement. */
const char *move_answered(const struct db_admin *on, int column);
bool move_is_true(const struct db_admin *on, int column);
/* Asks again until the answer is that; false: not in time, or it failed. */
MUST_CHECK bool move_await(struct move *move, struct db_admin *on, enum convctl_sql statement,
                           const char *const *params, size_t n, const char *wanted, int timeout_ms,
                           int every_ms);

#endif
