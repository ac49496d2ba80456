#include "services/webhook/steps.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/lookup.h"
#include "services/webhook/address_policy.h"
#include "services/webhook/connect.h"
#include "services/webhook/transfers.h"

enum { REFRESH_US = 30 * 1000 * 1000 };

struct steps {
    struct steps_options options;
    struct lookups *lookups;
    struct connects *connects;
    struct transfers *transfers;
    struct address_policy policy;
    int64_t refresh_due_us; /* clock_mono_us() */
};

static void end(struct steps *steps, struct attempt *attempt, enum failure failure)
{
    connects_release(attempt);
    attempt_end(attempt, failure);
    steps->options.on_end(steps->options.closure, attempt);
}

/* -- connecting and sending -------------------------------------------------------------------- */

static void on_transferred(void *closure, struct attempt *attempt, enum failure failure,
                           bool was_sent)
{
    struct steps *steps = closure;
    const bool may_go_on = !was_sent && (failure == FAILURE_TLS || failure == FAILURE_TIMEOUT) &&
                           connects_can_go_on(attempt) &&
                           clock_mono_us() < attempt_limit_us(attempt);

    if (!may_go_on) {
        end(steps, attempt, failure);
        return;
    }
    attempt->connect_us = attempt->tls_us = -1;
    attempt->due_us = attempt_limit_us(attempt);
    connects_go_on(steps->connects, attempt);
}

static void on_connected(void *closure, struct attempt *attempt, int fd, enum failure failure)
{
    struct steps *steps = closure;
    const int64_t now_us = clock_mono_us(), limit_us = attempt_limit_us(attempt);

    if (failure != FAILURE_NONE) {
        end(steps, attempt, failure);
        return;
    }
    attempt->connect_us = now_us - attempt->begun_us - (attempt->dns_us > 0 ? attempt->dns_us : 0);
    if (connects_can_go_on(attempt))
        attempt->due_us = now_us + (limit_us - now_us) / 2;
    transfers_begin(steps->transfers, attempt, fd);
}

static enum failure check_addresses(const struct steps *steps, const struct address *addresses,
                                    size_t n)
{
    if (n == 0)
        return FAILURE_DNS;
    for (size_t i = 0; i < n; i++) {
        if (!address_policy_allows(&steps->policy, &addresses[i]))
            return FAILURE_BLOCKED;
    }
    return FAILURE_NONE;
}

static void send_to(struct steps *steps, struct attempt *attempt, const struct address *addresses,
                    size_t n)
{
    const enum failure failure = check_addresses(steps, addresses, n);

    if (failure != FAILURE_NONE)
        end(steps, attempt, failure);
    else
        connects_begin(steps->connects, attempt, addresses, n);
}

/* -- looking up -------------------------------------------------------------------------------- */

/* The closure of a lookup. */
struct looking {
    struct steps *steps;
    struct attempt *attempt;
};

static void end_lookup(struct attempt *attempt)
{
    attempt->lookup = NULL;
    attempt->dns_us = clock_mono_us() - attempt->begun_us;
}

static void on_looked_up(void *closure, const struct address *addresses, size_t n)
{
    const struct looking *looking = closure;

    end_lookup(looking->attempt);
    send_to(looking->steps, looking->attempt, addresses, n);
}

static void look_up(struct steps *steps, struct attempt *attempt)
{
    struct looking *looking = ARENA_NEW(&attempt->arena, struct looking);

    *looking = (struct looking){steps, attempt};
    attempt->lookup =
        lookup_begin(steps->lookups, arena_cstr(&attempt->arena, attempt->parsed_url.host),
                     on_looked_up, looking);
}

/* -- an attempt -------------------------------------------------------------------------------- */

void steps_begin(struct steps *steps, struct attempt *attempt)
{
    attempt->due_us = attempt_limit_us(attempt);
    if (attempt->parsed_url.is_literal)
        send_to(steps, attempt, &attempt->parsed_url.address, 1);
    else
        look_up(steps, attempt);
}

void steps_give_up(struct steps *steps, struct attempt *attempt)
{
    if (attempt->transfer != NULL) {
        transfers_give_up(steps->transfers, attempt);
    } else if (attempt->lookup != NULL) {
        lookup_abandon(attempt->lookup);
        end_lookup(attempt);
        end(steps, attempt, FAILURE_DNS);
    } else {
        end(steps, attempt, FAILURE_TIMEOUT);
    }
}

void steps_release(struct steps *steps, struct attempt *attempt)
{
    if (attempt->lookup != NULL)
        lookup_abandon(attempt->lookup);
    attempt->lookup = NULL;
    transfers_release(steps->transfers, attempt);
    connects_release(attempt);
}

/* -- all of them ------------------------------------------------------------------------------- */

static int timeout(const struct steps *steps, int max_ms)
{
    const int lookups_ms = lookups_timeout_ms(steps->lookups, max_ms);

    return connects_timeout_ms(steps->connects, lookups_ms);
}

void steps_wait(struct steps *steps, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct pollfd all[STEPS_FDS_MAX + 2];

    must(n <= STEPS_FDS_MAX);
    memcpy(all, fds, n * sizeof(*fds));
    all[n] = (struct pollfd){.fd = lookups_descriptor(steps->lookups), .events = POLLIN};
    all[n + 1] = (struct pollfd){.fd = connects_descriptor(steps->connects), .events = POLLIN};
    transfers_wait(steps->transfers, all, n + 2, timeout(steps, timeout_ms));
    memcpy(fds, all, n * sizeof(*fds));
}

void steps_wake(struct steps *steps)
{
    transfers_wake(steps->transfers);
}

void steps_advance(struct steps *steps)
{
    if (clock_mono_us() >= steps->refresh_due_us) {
        address_policy_refresh(&steps->policy);
        steps->refresh_due_us = clock_mono_us() + REFRESH_US;
    }
    lookups_process(steps->lookups);
    connects_step(steps->connects);
    transfers_step(steps->transfers);
}

struct steps *steps_new(const struct steps_options *options)
{
    struct steps *steps = heap_zeroed(1, sizeof(*steps));

    steps->options = *options;
    steps->policy.rules = options->rules;
    steps->lookups =
        lookups_new(&(struct dns_options){.servers = options->dns_servers, .dns_only = true});
    if (steps->lookups == NULL)
        LOG(LOG_ERROR, "WEBHOOK_DNS_SERVER must be addresses, each with an optional port");
    steps->connects = connects_new(&(struct connects_options){
        .policy = &steps->policy,
        .on_end = on_connected,
        .closure = steps,
    });
    steps->transfers = transfers_new(&(struct transfers_options){
        .ca_file = options->ca_file,
        .on_end = on_transferred,
        .closure = steps,
    });
    if (steps->lookups != NULL && steps->transfers != NULL)
        return steps;
    steps_free(steps);
    return NULL;
}

void steps_free(struct steps *steps)
{
    if (steps == NULL)
        return;
    lookups_free(steps->lookups);
    connects_free(steps->connects);
    transfers_free(steps->transfers);
    free(steps);
}
