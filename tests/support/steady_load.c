#include "tests/support/steady_load.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/http_connection.h"

static void pause_until(int64_t due_us)
{
    const int64_t left_us = due_us - clock_mono_us();

    if (left_us > 0)
        poll(NULL, 0, (int)(left_us / 1000));
}

static void *ask(void *closure)
{
    struct steady_load_client *const self = closure;
    const struct steady_load *const load = self->load;
    const int64_t every_us = INT64_C(1000000) * STEADY_LOAD_CLIENTS / load->per_second;
    int64_t due_us = clock_mono_us() + every_us * self->number / STEADY_LOAD_CLIENTS;
    struct http_connection connection;

    cr_assert(http_connection_open(&connection, load->port));
    for (int i = self->number; clock_mono_us() < load->end_us; i++, due_us += every_us) {
        const char *const request = load->requests[i % load->n_requests];
        struct connection_response response;
        bool came;

        pause_until(due_us);
        due_us = clock_mono_us() > due_us + every_us ? clock_mono_us() : due_us;
        came = http_connection_send(&connection, request, strlen(request)) &&
               http_connection_receive(&connection, &response, HTTP_TIMEOUT_MS);
        self->count.responses += came && response.status == 200;
        self->count.refused += came && (response.status == 429 || response.status == 503);
        if (!came) {
            http_connection_close(&connection);
            cr_assert(http_connection_open(&connection, load->port));
        }
    }
    http_connection_close(&connection);
    return NULL;
}

void steady_load_start(struct steady_load *load, int64_t end_us)
{
    load->end_us = end_us;
    for (int i = 0; i < STEADY_LOAD_CLIENTS; i++) {
        struct steady_load_client *const member = &load->members[i];

        *member = (struct steady_load_client){.load = load, .number = i};
        cr_assert_eq(pthread_create(&member->thread, NULL, ask, member), 0);
    }
}

struct steady_load_count steady_load_stop(struct steady_load *load)
{
    struct steady_load_count count = {.responses = 0};

    for (int i = 0; i < STEADY_LOAD_CLIENTS; i++) {
        pthread_join(load->members[i].thread, NULL);
        count.responses += load->members[i].count.responses;
        count.refused += load->members[i].count.refused;
    }
    return count;
}
