/*
 * operator_command - what most commands of operators and of the dashboard have in common: one
 * statement, whose row holds the result and the reply.
 *
 *     static enum status key_revoke_parse(struct command *command, void *service)
 *     {
 *         struct operator_query *query = operator_query_for(command, SQL_REVOKE_KEY);
 *         params_add(&query->params, ...);
 *         return ST_OK;
 *     }
 *     const struct command_handler key_revoke = {..., .query = operator_query,
 *                                                .reply = ... operator_reply(...)};
 *
 * What     The statement returns no row if what it names does not exist. Otherwise it returns one
 *          row: a word for its result ("ok", "same" if nothing had to change, or a reason to
 *          refuse); the reply, a JSON object; and, if the reply carries one of two secrets, the scope.
 * Owns     Everything lives in the command's arena.
 * Threads  The actor's.
 * Fails    As hooks do (handler.h). ST_INTERNAL (logged): a statement returned an unexpected row, that
 *          is, a result that is not listed or a reply that is not an object.
 */
#ifndef COMMON_ACTOR_OPERATOR_COMMAND_H
#define COMMON_ACTOR_OPERATOR_COMMAND_H

#include "common/actor/actor.h"
#include "common/db/params.h"

/* `operator.*`: the first columns of every such statement. */
enum operator_column { OPERATOR_RESULT, OPERATOR_REPLY, OPERATOR_COLUMNS };

/* A parsed command: what to query, and what the rows do not hold. */
struct operator_query {
    int statement;
    struct params params;
    /* A statement that takes a lock, to run first, with the first `n_lock_params` of the
       parameters. */
    bool has_lock;
    int lock_statement;
    size_t n_lock_params;
    /* Shown to the caller this once, as the reply's last member; never sent to the database. */
    const char *secret_name;
    struct str secret;
    struct str secret_of_reader; /* sent instead, if the row has `read` in scope_column */
    int scope_column;
    size_t index; /* of the statement in the batch */
};

/* Make a query, kept in command->state; the second with the organization as its first parameter. */
struct operator_query *operator_query_of(struct command *command, int statement);
struct operator_query *operator_query_for(struct command *command, int statement);

/* Adds an id as the caller wrote it. A malformed id is added as the nil UUID, which matches
   nothing; ids are case-sensitive, so one in capitals is malformed. */
void operator_param_id(struct operator_query *query, struct arena *arena, struct str text);

/* The body of a list command: where the next page begins. */
struct operator_list {
    struct str before; /* an id */
};
extern const struct field operator_list_fields[];

/* The query hook. */
void operator_query(struct command *command, struct db *db, void *service);

/* A result for which a command is refused. */
struct operator_result {
    struct str name;
    enum outcome outcome;
    const char *field; /* or NULL */
    const char *message;
};

struct operator_results {
    const struct operator_result *at;
    size_t n;
    enum outcome no_row;
    const char *no_row_message;
};

/* For a reply hook. A result that is not in `results` is a failure (logged). */
enum status operator_reply(struct command *command, struct db *db,
                           const struct operator_results *results);
/* Refuses with the result of that name. */
enum status operator_refuse(struct command *command, struct str name,
                            const struct operator_results *results);

/* Writes the database's object or array as the reply; if `name` is not NULL, an object with the
   secret as its last member. False: it is not JSON of that kind. */
MUST_CHECK bool operator_write(struct command *command, struct str object, const char *name,
                               struct str secret);

#endif
