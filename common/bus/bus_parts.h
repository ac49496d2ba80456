/*
 * bus_parts - what a bus consists of; for bus.c, call.c and tests. Private to common/bus.
 *
 *     bus.c, call.c        what the header bus.h promises; call.c: requests that block
 *       links.c              which of two links is in use; moves from one server to another
 *         subscriptions.c      mailboxes, and the messages that come for them
 *         requests.c           requests in bundles, and the replies to them
 *         dialer.c             makes a connection: looks up names, tries addresses
 *           options.c            the options of nats.c; bus_url.c reads NATS_URL, creds.c
 *                                NATS_CREDS_FILE
 *       replies.c            replies to messages, collected until the end of a step
 *         link.c               one connection of nats.c
 *         message.c            a message that has come, alone or in a bundle
 *           bundle.c             the format of a bundle
 *
 * Each includes only files below it.
 */
#ifndef COMMON_BUS_BUS_PARTS_H
#define COMMON_BUS_BUS_PARTS_H

#include "common/bus/links.h"
#include "common/bus/replies.h"

/* The reply for which bus_call() waits. */
struct bus_call {
    uint64_t handle; /* of the call in flight; a reply with another handle is late and dropped */
    bool has_reply;
    struct bus_message *reply; /* NULL with has_reply: no responders */
};

struct bus {
    struct bus_options options;
    struct bus_settings settings;
    char *inbox_prefix;
    struct bus_links links;
    struct bus_subscriptions subscriptions;
    struct bus_requests requests;
    struct bus_replies replies;
    struct bus_call call;
    unsigned n_changes_seen; /* of links.n_changes, by the owner */
};

#endif
