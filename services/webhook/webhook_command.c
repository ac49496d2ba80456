/*
 * The steps that all commands share: from a parsed command to its statement, and from the row that
 * comes back to the reply.
 */
#include "proto/subject.h"
#include "services/webhook/webhook.h"

static const struct operator_result results[] = {
    {STR("too_many"), OUTCOME_CONFLICT, NULL,
     "The organization has reached its limit of endpoints"},
    {STR("disabled"), OUTCOME_CONFLICT, NULL, "The endpoint is disabled; enable it first"},
    {STR("gone"), OUTCOME_CONFLICT, NULL, "The endpoint has been deleted"},
};

void webhook_use_queue(struct command *command, struct operator_query *query)
{
    query->has_lock = true;
    query->lock_statement = SQL_LOCK_QUEUE;
    command->lock_order = 1;
}

enum status webhook_reply(struct command *command, struct db *db, void *service)
{
    return operator_reply(
        command, db,
        &(struct operator_results){results, ARRAY_SIZE(results), OUTCOME_NOT_FOUND, "Not found"});
}

enum status webhook_reply_work(struct command *command, struct db *db, void *service)
{
    const enum status st = webhook_reply(command, db, service);

    if (st == ST_OK)
        command->notice = SUBJECT_NOTICE_EVENTS;
    return st;
}
