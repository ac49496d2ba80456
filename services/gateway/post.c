#include "services/gateway/post.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "proto/headers.h"
#include "services/gateway/gateway.h"

enum kind { POST_NOTICE, POST_LINK_UP, POST_LINK_DOWN, POST_STOP };

struct post {
    h2o_multithread_message_t super;
    enum kind kind;
    char organization_id[UUID_TEXT + 1];
};

static void post(struct gateway *gateway, struct post what)
{
    struct post *copy = malloc(sizeof(*copy));

    must(copy != NULL);
    *copy = what;
    h2o_multithread_send_message(&gateway->inbox, &copy->super);
}

void post_notice(void *gateway, struct bus_message *message)
{
    struct post what = {.kind = POST_NOTICE};
    struct str id = bus_message_header(message, HEADER_ORGANIZATION);

    if (id.p == NULL || id.n != UUID_TEXT)
        return;
    memcpy(what.organization_id, id.p, UUID_TEXT);
    post(gateway, what);
}

void post_link(void *gateway, bool up)
{
    post(gateway, (struct post){.kind = up ? POST_LINK_UP : POST_LINK_DOWN});
}

void post_stop(struct gateway *gateway)
{
    post(gateway, (struct post){.kind = POST_STOP});
}

static void forget_failure(struct key *key, void *closure)
{
    key_reachable(key);
}

static void handle(struct gateway *gateway, struct post *what)
{
    switch (what->kind) {
    case POST_NOTICE:
        key_cache_doubt(gateway->keys, str_of(what->organization_id));
        return;
    case POST_LINK_UP:
        key_cache_each(gateway->keys, forget_failure, NULL);
        pulse_lost(&gateway->pulse);
        gateway_note_bus(gateway);
        return;
    case POST_LINK_DOWN:
        pulse_lost(&gateway->pulse);
        gateway_note_bus(gateway);
        calls_lose_all(&gateway->calls);
        return;
    case POST_STOP:
        gateway->stopping = true;
        return;
    }
}

void post_deliver(h2o_multithread_receiver_t *inbox, h2o_linklist_t *messages)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, inbox, inbox);

    while (!h2o_linklist_is_empty(messages)) {
        struct post *what = H2O_STRUCT_FROM_MEMBER(struct post, super.link, messages->next);

        h2o_linklist_unlink(&what->super.link);
        handle(gateway, what);
        free(what);
    }
}
