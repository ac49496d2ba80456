/*
 * move_cells - the databases of the two cells of a move, and the statements sent to them.
 *
 * Owns     The connections, from move_open_cells() to move_close_cells(). Failure texts are in the
 *          arena.
 * Threads  One thread.
 * Fails    ST_REFUSED or false, with the failure filled. No statement waits for locks for longer than
 *          move->give_up_s, and those of `admin` are answered half a minute later, or have failed.
 */
#ifndef SERVICES_CONVCTL_MOVE_CELLS_H
#define SERVICES_CONVCTL_MOVE_CELLS_H

#include "common/base/cell.h"
#include "common/db/db_admin.h"
#include "convctl_sql.h"
#include "services/convctl/bus_client.h"

struct cell {
    char name[CELL_CAPACITY];
    struct db_admin *admin;
    struct db_admin *bulk; /* for all rows: it copies them, or sees them as of one moment */
};

struct move {
    const struct bus_client_request *request;
    struct bus_client *bus;
    struct arena *arena;
    struct convctl_failure *failure;
    struct cell from, to;
    char step[16]; /* in the directory; "" = no move */
    const char *from_url;
    int give_up_s; /* give up after this long without progress */
    bool is_lost;  /* the new cell's database is unreachable, and the move is aborted without it */
    bool is_held;  /* closed in the old cell, perhaps for good, and not open yet in the new one */
    bool sees_switch;           /* both bulk connections see the rows as of the switch */
    bool shows_steps;           /* on standard error: it is a terminal */
    const char *unsealed_since; /* as OPEN takes it; NULL = unknown */
    int64_t closed_us, closed_ms, rows;
};

#define MOVE_LOCK_NOT_AVAILABLE "55P03"
#define MOVE_QUERY_CANCELED     "57014"

enum status move_failed(struct move *move, const char *code, const char *message);
void move_pause(int ms);
/* Prints a line that says what the move does now, if move->shows_steps. */
void move_show(const struct move *move, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `databases`: see cell_move.h. `may_lack`: if the new cell's database is unreachable, sets
   move->is_lost and leaves move->to without connections. */
MUST_CHECK enum status move_open_cells(struct move *move, const char *databases, bool may_lack);
void move_close_cells(struct move *move); /* those that are open */

#define PARAMS(...)                                                                                \
    ((const char *const[]){__VA_ARGS__}), ARRAY_SIZE(((const char *const[]){__VA_ARGS__}))

/* Runs a statement. The parameters are text; NULL is SQL NULL. */
MUST_CHECK enum status move_ask(struct move *move, struct db_admin *on, enum convctl_sql statement,
                                const char *const *params, size_t n);
/* The same in the databases of both cells, in parallel. */
MUST_CHECK enum status move_ask_both(struct move *move, struct db_admin *from, struct db_admin *to,
                                     enum convctl_sql statement, const char *const *params,
                                     size_t n);
/* The same as move_ask(), but retries for a while if a lock is not available or a slot is still in
   use. */
MUST_CHECK enum status move_ask_again(struct move *move, struct db_admin *on,
                                      enum convctl_sql statement, const char *const *params,
                                      size_t n);
/* The same as move_ask(), limited to move->give_up_s; after that the failure's code is
   "timeout". */
MUST_CHECK enum status move_ask_within(struct move *move, struct db_admin *on,
                                       enum convctl_sql statement, const char *const *params,
                                       size_t n);
/* Takes a snapshot that later statements of the bulk connection use, until move_let_go(). */
MUST_CHECK enum status move_hold(struct move *move, struct db_admin *bulk);
MUST_CHECK enum status move_let_go(struct move *move, struct db_admin *bulk);
/* Runs a script on a connection of either cell. */
MUST_CHECK enum status move_script(struct move *move, struct db_admin *on, const char *text);

/* A column of the first row; "" if there is no row or the value is NULL. Lives until the next
   statement. */
const char *move_answered(const struct db_admin *on, int column);
bool move_is_true(const struct db_admin *on, int column);
/* Repeats the statement until its answer is `wanted`. False: it timed out or failed. */
MUST_CHECK bool move_await(struct move *move, struct db_admin *on, enum convctl_sql statement,
                           const char *const *params, size_t n, const char *wanted, int timeout_ms,
                           int every_ms);

#endif
