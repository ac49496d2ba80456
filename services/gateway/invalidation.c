#include "services/gateway/invalidation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "proto/headers.h"
#include "services/gateway/gateway.h"

struct invalidation {
    h2o_multithread_message_t super;
    char organization_id[UUID_TEXT + 1];
};

void invalidation_post(void *gateway, struct bus_message *message)
{
    struct str id = bus_message_header(message, HEADER_ORGANIZATION);
    struct invalidation *invalidation;

    if (id.p == NULL || id.n != UUID_TEXT)
        return;
    invalidation = calloc(1, sizeof(*invalidation));
    must(invalidation != NULL);
    memcpy(invalidation->organization_id, id.p, UUID_TEXT);
    h2o_multithread_send_message(&((struct gateway *)gateway)->invalidations, &invalidation->super);
}

/* A walk over all keys a notice: of those about one organization in a row, one is enough. */
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, invalidations, invalidations);
    char latest[UUID_TEXT + 1] = "";

    while (!h2o_linklist_is_empty(messages)) {
        struct invalidation *invalidation =
            H2O_STRUCT_FROM_MEMBER(struct invalidation, super.link, messages->next);

        h2o_linklist_unlink(&invalidation->super.link);
        if (strcmp(invalidation->organization_id, latest) != 0)
            key_cache_doubt(gateway->keys, str_of(invalidation->organization_id));
        memcpy(latest, invalidation->organization_id, sizeof(latest));
        free(invalidation);
    }
}
