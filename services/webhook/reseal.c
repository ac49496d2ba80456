/*
 * reseal - when the key that seals endpoints' secrets is changed, seals anew what the other one
 * sealed.
 *
 * A step each time that the actor is idle, over all endpoints once, from when the process started.
 * Replicas may do it at the same time: whoever comes second finds another secret than it read.
 */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/webhook/webhook.h"

enum { STEP = 200, PATIENCE_US = 5 * 1000 * 1000 };
enum column { ORGANIZATION, ENDPOINT, SECRET };

/* Rows end with the next batch. */
struct found {
    struct uuid organization_id, endpoint_id;
    struct str sealed;
};

static struct found *copy_rows(const struct db_rows *rows, struct arena *arena, size_t *n)
{
    struct found *found;

    *n = (size_t)db_rows_count(rows);
    found = ARENA_ARRAY(arena, struct found, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        must(uuid_parse(db_value(rows, i, ORGANIZATION), &found[i].organization_id));
        must(uuid_parse(db_value(rows, i, ENDPOINT), &found[i].endpoint_id));
        found[i].sealed = arena_str(arena, db_value(rows, i, SECRET));
    }
    return found;
}

static enum status read_step(struct db *db, struct arena *arena, const struct webhook_reseal *from,
                             struct found **found, size_t *n)
{
    struct params params = {0};
    enum status st;

    params_add_id(&params, arena, &from->organization_id);
    params_add_id(&params, arena, &from->endpoint_id);
    params_add_int(&params, arena, STEP);
    st = db_once(db, SQL_LIST_SECRETS, &params, PATIENCE_US);
    if (st == ST_OK)
        *found = copy_rows(db_result(db, 0), arena, n);
    return st;
}

/* All of a step in one transaction, with the lock of the queue: the sender's statements touch
   endpoints where they found them, and an update moves them. */
static enum status write_step(struct db *db, struct arena *arena, struct webhook *self,
                              const struct found *found, size_t n)
{
    int64_t resealed = 0;
    enum status st;

    db_open_batch(db, clock_us() + PATIENCE_US);
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        struct params params = {0};
        struct str anew = secret_reseal(&self->keys, arena, &found[i].organization_id,
                                        &found[i].endpoint_id, found[i].sealed);

        if (anew.p == NULL)
            continue;
        params_add_id(&params, arena, &found[i].organization_id);
        params_add_id(&params, arena, &found[i].endpoint_id);
        params_add(&params, found[i].sealed);
        params_add(&params, anew);
        db_add(db, SQL_REPLACE_SECRET, params.at, params.n);
        resealed++;
    }
    st = db_commit(db);
    if (st == ST_OK)
        self->reseal.resealed += resealed;
    return st;
}

void webhook_reseal(struct db *db, struct arena *arena, struct webhook *self)
{
    struct webhook_reseal *reseal = &self->reseal;
    struct found *found = NULL;
    size_t n = 0;
    enum status st;

    if (self->keys.n < 2 || reseal->is_done || !db_is_up(db))
        return;
    st = read_step(db, arena, reseal, &found, &n);
    if (st == ST_OK && n > 0)
        st = write_step(db, arena, self, found, n);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not seal secrets anew, trying again",
            log_str("status", status_name(st)));
        return;
    }
    if (n > 0) {
        reseal->organization_id = found[n - 1].organization_id;
        reseal->endpoint_id = found[n - 1].endpoint_id;
    }
    if (n == STEP)
        return;
    reseal->is_done = true;
    LOG(LOG_INFO, "all secrets are sealed with the first key", log_int("anew", reseal->resealed));
}
