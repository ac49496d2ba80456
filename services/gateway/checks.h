/*
 * checks - the order in which a request of a valid key is checked. Pure.
 *
 * What     Plan, HTTPS, address, rate, path, method, Accept, scope, Content-Type, size: the first
 *          that fails is the answer. What comes before (framing, the key) and after (the body) is
 *          checked elsewhere.
 * Threads  Any.
 */
#ifndef GATEWAY_CHECKS_H
#define GATEWAY_CHECKS_H

#include "proto/outcome.h"
#include "services/gateway/api_route.h"
#include "services/gateway/key.h"

struct facts {
    const struct key_record *record;
    const struct api_route *route;
    struct address client;
    bool is_https;
    bool over_limit;
    bool accepts_json;
    bool sends_json;
    bool too_large;
};

/* OUTCOME_OK or a refusal. */
enum outcome checks_run(const struct facts *facts);

#endif
