/*
 * operator_command - what most commands of operators and of the dashboard have in common: one
 * statement; its row says how it ended and holds the reply.
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
 * What     The statement returns no row where there is nothing of the name; or one: a word for its
 *          result, "ok", "same" (nothing had to change) or why it refused; the reply, a JSON object;
 *          and, where a reply has one of two secrets, the scope that it is for.
 * Owns     Everything lives in the command's arena.
 * Threads  The actor's.
 * Fails    As hooks do (actor.h). ST_INTERNAL (logged) where a statement returns an unexpected row:
 *          a result that is not listed, a reply that is no object.
 */
#ifndef COMMON_ACTOR_OPERATOR_COMMAND_H
#define COMMON_ACTOR_OPERATOR_COMMAND_H

#include "common/actor/actor.h"
#include "common/db/params.h"

/* `operator.*`: with these the columns of every such statement begin. */
enum operator_column { OPERATOR_RESULT, OPERATOR_REPLY, OPERATOR_COLUMNS };

/* A parsed command: what to query, and what the rows alone do not hold. */
struct operator_query {
    int statement;
    struct params params;
    /* Another statement before it, with the first `n_lock_params` of its parameters, that takes a
       lock. */
    bool has_lock;
    int lock_statement;
    size_t n_lock_params;
    /* Shown to the caller this once, as the reply's last member; never sent to the database. */
    const char *secret_name;
    struct str secret;
    struct str secret_of_reader; /* instead of it, where the row has `read` in this column */
    int scope_column;
    size_t index; /* of the statement in the batch */
};

/* A query, kept in command->state; the second has the organization as its first parameter. */
struct operator_query *operator_query_of(struct command *command, int statement);
struct operator_query *operator_query_for(struct command *command, int statement);

/* An id as a caller wrote it. Ids are case-sensitive: one in capitals names nothing, as does the nil
   UUID, which stands in for it. */
void operator_param_id(struct operator_query *query, struct arena *arena, struct str text);

/* The body of a list: where it goes on. */
struct operator_list {
    struct str before; /* an id */
};
extern const struct field operator_list_fields[];

/* The hook. */
void operator_query(struct command *command, struct db *db, void *service);

/* What a statement found instead of doing its work. */
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

/* For a reply hook. A result that is not among `results` is a failure (logged). */
enum status operator_reply(struct command *command, struct db *db,
                           const struct operator_results *results);
/* Refuses with that result. */
enum status operator_refuse(struct command *command, struct str name,
                            const struct operator_results *results);

/* Writes the database's object or array as the reply; `name` not NULL: the object, with the secret as
   its last member. False: it is not JSON of that kind. */
MUST_CHECK bool operator_write(struct command *command, struct str object, const char *name,
                               struct str secret);

#endif
