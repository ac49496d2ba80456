#include "services/gateway/news.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "proto/headers.h"
#include "services/gateway/gateway.h"

struct item {
    h2o_multithread_message_t super;
    char organization_id[UUID_TEXT + 1];
};

void news_post(void *gateway, struct bus_message *message)
{
    struct str id = bus_message_header(message, HEADER_ORGANIZATION);
    struct item *item;

    if (id.p == NULL || id.n != UUID_TEXT)
        return;
    item = calloc(1, sizeof(*item));
    must(item != NULL);
    memcpy(item->organization_id, id.p, UUID_TEXT);
    h2o_multithread_send_message(&((struct gateway *)gateway)->news, &item->super);
}

/* A walk over all keys a notice: of those about one organization in a row, one is enough. */
void news_deliver(h2o_multithread_receiver_t *news, h2o_linklist_t *messages)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, news, news);
    char latest[UUID_TEXT + 1] = "";

    while (!h2o_linklist_is_empty(messages)) {
        struct item *item = H2O_STRUCT_FROM_MEMBER(struct item, super.link, messages->next);

        h2o_linklist_unlink(&item->super.link);
        if (strcmp(item->organization_id, latest) != 0)
            key_cache_doubt(gateway->keys, str_of(item->organization_id));
        memcpy(latest, item->organization_id, sizeof(latest));
        free(item);
    }
}
