#include "common/bus/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"

/* -- making messages of what came ---------------------------------------------------------------- */

/* Whether its reply subject is PREFIX.ID.SUBJECT.N. */
static bool is_bundle(natsMsg *nats)
{
    const char *subject = natsMsg_GetSubject(nats), *reply_to = natsMsg_GetReply(nats);
    const char *end = reply_to != NULL ? strrchr(reply_to, '.') : NULL;
    const size_t n = strlen(subject);

    return end != NULL && (size_t)(end - reply_to) > n && end[-(ptrdiff_t)n - 1] == '.' &&
           memcmp(end - n, subject, n) == 0;
}

static struct bus_parcel *make_parcel(natsMsg *nats, size_t n)
{
    struct bus_parcel *parcel = heap_zeroed(1, sizeof(*parcel) + n * sizeof(struct bus_message));

    parcel->nats = nats;
    parcel->n_messages = n;
    atomic_init(&parcel->n_used, n);
    for (size_t i = 0; i < n; i++)
        parcel->messages[i].parcel = parcel;
    return parcel;
}

static struct str bytes_of(natsMsg *nats)
{
    return (struct str){natsMsg_GetData(nats), (size_t)natsMsg_GetDataLength(nats)};
}

struct bus_parcel *parcel_plain(natsMsg *nats)
{
    struct bus_parcel *parcel = make_parcel(nats, 1);

    parcel->is_plain = true;
    parcel->messages[0].item.body = bytes_of(nats);
    return parcel;
}

static struct bus_parcel *make_of_items(natsMsg *nats, const struct bundle_item *items, size_t n)
{
    struct bus_parcel *parcel;

    if (n == 0) {
        LOG(LOG_WARNING, "bundle is malformed", log_str("subject", natsMsg_GetSubject(nats)));
        message_discard(nats);
        return NULL;
    }
    parcel = make_parcel(nats, n);
    for (size_t i = 0; i < n; i++)
        parcel->messages[i].item = items[i];
    return parcel;
}

/* A bundle that no program of ours sends: too large, or with a compressed request. */
static bool is_strange(const struct bundle_item *items, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].is_compressed)
            return true;
    return n > 1 && bytes > BUNDLE_BYTES_MAX;
}

struct bus_parcel *parcel_of_request(natsMsg *nats, const void *taker, const struct bus_link *via)
{
    const struct str bytes = bytes_of(nats);
    struct bundle_item items[BUNDLE_ITEMS_MAX];
    struct bus_parcel *parcel;
    size_t n;

    if (is_bundle(nats)) {
        n = bundle_read(bytes, items);
        parcel = make_of_items(nats, items, is_strange(items, n, bytes.n) ? 0 : n);
    } else {
        parcel = parcel_plain(nats);
    }
    if (parcel != NULL) {
        parcel->taker = taker;
        parcel->via = via;
    }
    return parcel;
}

struct bus_parcel *parcel_of_replies(natsMsg *nats)
{
    struct bundle_item items[BUNDLE_ITEMS_MAX];

    return make_of_items(nats, items, bundle_read(bytes_of(nats), items));
}

bool message_expand(struct bus_message *message, size_t *left)
{
    struct str body;

    if (!message->item.is_compressed)
        return true;
    body = bundle_expand(&message->item, *left);
    if (body.p == NULL) {
        LOG(LOG_WARNING, "reply is malformed",
            log_str("subject", natsMsg_GetSubject(message->parcel->nats)));
        return false;
    }
    *left -= body.n;
    message->expanded = (char *)body.p;
    message->item.body = body;
    message->item.is_compressed = false;
    return true;
}

/* -- what a message says ------------------------------------------------------------------------- */

struct str bus_message_subject(const struct bus_message *message)
{
    return str_of(natsMsg_GetSubject(message->parcel->nats));
}

struct str bus_message_body(const struct bus_message *message)
{
    return message->item.body;
}

struct str bus_message_reply_to(const struct bus_message *message)
{
    const char *reply_to = natsMsg_GetReply(message->parcel->nats);

    return reply_to == NULL || reply_to[0] == '\0' ? STR_NONE : str_of(reply_to);
}

struct str bus_message_header(struct bus_message *message, const char *name)
{
    const char *value = NULL;

    if (!message->parcel->is_plain)
        return bundle_header(&message->item, name);
    if (natsMsgHeader_Get(message->parcel->nats, name, &value) != NATS_OK)
        return STR_NONE;
    return str_of(value);
}

bool bus_message_is_plain(const struct bus_message *message)
{
    return message->parcel->is_plain;
}

/* -- freeing ------------------------------------------------------------------------------------- */

/* nats.c frees a message on a separate thread, which every call wakes: under load that costs as
   much as all its other work. So messages that an owner's thread frees are collected until a
   wake-up is worth it. */
enum { DEFERRED_MAX = 128, DEFERRED_BYTES = 1024 * 1024 };

static _Thread_local struct {
    bool is_in_use;
    size_t n, bytes;
    natsMsg *at[DEFERRED_MAX];
} deferred;

static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_deferred(void *unused)
{
    while (deferred.n > 0)
        natsMsg_Destroy(deferred.at[--deferred.n]);
    deferred.bytes = 0;
}

static void make_key(void)
{
    must(pthread_key_create(&end_of_thread, free_deferred) == 0);
}

void message_defer_frees(void)
{
    if (deferred.is_in_use)
        return;
    must(pthread_once(&once, make_key) == 0);
    must(pthread_setspecific(end_of_thread, &deferred) == 0);
    deferred.is_in_use = true;
}

void message_free_deferred(void)
{
    free_deferred(NULL);
}

void message_discard(natsMsg *nats)
{
    if (nats == NULL)
        return;
    bundle_wipe((char *)natsMsg_GetData(nats), (size_t)natsMsg_GetDataLength(nats));
    if (!deferred.is_in_use) {
        natsMsg_Destroy(nats);
        return;
    }
    deferred.at[deferred.n++] = nats;
    deferred.bytes += (size_t)natsMsg_GetDataLength(nats);
    if (deferred.n == DEFERRED_MAX || deferred.bytes > DEFERRED_BYTES)
        message_free_deferred();
}

void parcel_release(struct bus_parcel *parcel)
{
    if (atomic_fetch_sub(&parcel->n_used, 1) > 1)
        return;
    message_discard(parcel->nats);
    bundle_release(&parcel->replies);
    free(parcel);
}

void bus_message_free(struct bus_message *message)
{
    if (message == NULL)
        return;
    if (message->expanded != NULL)
        bundle_wipe(message->expanded, message->item.body.n);
    free(message->expanded);
    parcel_release(message->parcel);
}
