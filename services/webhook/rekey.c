/*
 * rekey - when the key that seals endpoints' secrets is changed, seals with the new key what the
 * old one sealed.
 *
 * A step each time that the actor is idle, over all endpoints once, from when the process started.
 * Replicas may do it at the same time: the second one finds a different secret than it read.
 */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/webhook/webhook.h"

enum { STEP = 200, TIMEOUT_US = 5 * 1000 * 1000 };
enum { ORGANIZATION, ENDPOINT, SECRET };

/* Rows end with the next batch. */
struct endpoint_secret {
    struct uuid organization_id, endpoint_id;
    struct str sealed;
};

/* NULL: no ids of ours. */
static struct endpoint_secret *copy_rows(const struct db_rows *rows, struct arena *arena, size_t *n)
{
    struct endpoint_secret *secrets;

    *n = (size_t)db_rows_count(rows);
    secrets = ARENA_ARRAY(arena, struct endpoint_secret, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        if (!uuid_parse(db_value(rows, i, ORGANIZATION), &secrets[i].organization_id) ||
            !uuid_parse(db_value(rows, i, ENDPOINT), &secrets[i].endpoint_id))
            return NULL;
        secrets[i].sealed = arena_str(arena, db_value(rows, i, SECRET));
    }
    return secrets;
}

static enum status read_step(struct db *db, struct arena *arena, const struct webhook_rekey *from,
                             struct endpoint_secret **secrets, size_t *n)
{
    struct params params = {0};
    enum status st;

    params_add_id(&params, arena, &from->organization_id);
    params_add_id(&params, arena, &from->endpoint_id);
    params_add_int(&params, arena, STEP);
    st = db_once(db, SQL_LIST_SECRETS, &params, TIMEOUT_US);
    if (st != ST_OK)
        return st;
    *secrets = copy_rows(db_result(db, 0), arena, n);
    return *secrets != NULL ? ST_OK : ST_INTERNAL;
}

/* All of a step in one transaction, with the lock of the queue: the sender's statements touch
   endpoints where they found them, and an update moves them. */
static enum status write_step(struct db *db, struct arena *arena, struct webhook *self,
                              const struct endpoint_secret *secrets, size_t n)
{
    int64_t rekeyed = 0;
    enum status st;

    db_open_batch(db, clock_us() + TIMEOUT_US);
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        struct params params = {0};
        struct str rekeyed_secret = secret_rekey(&self->keys, arena, &secrets[i].organization_id,
                                                 &secrets[i].endpoint_id, secrets[i].sealed);

        if (rekeyed_secret.p == NULL)
            continue;
        params_add_id(&params, arena, &secrets[i].organization_id);
        params_add_id(&params, arena, &secrets[i].endpoint_id);
        params_add(&params, secrets[i].sealed);
        params_add(&params, rekeyed_secret);
        db_add(db, SQL_REPLACE_SECRET, params.at, params.n);
        rekeyed++;
    }
    st = db_commit(db);
    if (st == ST_OK)
        self->rekey.rekeyed += rekeyed;
    return st;
}

void webhook_rekey(struct db *db, struct arena *arena, struct webhook *self)
{
    struct webhook_rekey *rekey = &self->rekey;
    struct endpoint_secret *secrets = NULL;
    size_t n = 0;
    enum status st;

    if (self->keys.n < 2 || rekey->is_done || !db_is_up(db))
        return;
    st = read_step(db, arena, rekey, &secrets, &n);
    if (st == ST_OK && n > 0)
        st = write_step(db, arena, self, secrets, n);
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not re-encrypt secrets; retrying",
            log_str("status", status_name(st)));
        return;
    }
    if (n > 0) {
        rekey->organization_id = secrets[n - 1].organization_id;
        rekey->endpoint_id = secrets[n - 1].endpoint_id;
    }
    if (n == STEP)
        return;
    rekey->is_done = true;
    LOG(LOG_INFO, "all secrets are encrypted with the first key", log_int("again", rekey->rekeyed));
}
