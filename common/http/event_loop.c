#include "common/http/event_loop.h"

#include <sys/time.h>

#include "common/base/clock.h"
#include "common/base/log.h"

static int64_t start_us; /* the time of day at monotonic time 0 */

__attribute__((constructor)) static void read_start(void)
{
    start_us = clock_us() - clock_mono_us();
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    const int64_t us = start_us + clock_mono_us();

    (void)zone;
    *now = (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    return 0;
}

h2o_loop_t *event_loop_create(void)
{
    h2o_loop_t *loop = h2o_evloop_create();

    must(loop != NULL);
    return loop;
}

enum { KEPT_MAX = 16 }; /* the limit in h2o 2.2.5, for each kind */

/* h2o has no function for this: takes each block out of the store and frees it directly. */
void event_loop_end_thread(void)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        h2o_mem_pool_t pool;
        h2o_mem_init_pool(&pool);
        (void)h2o_strdup(&pool, "", 0);
        free(pool.chunks);

        h2o_buffer_t *input;
        h2o_buffer_init(&input, &h2o_socket_buffer_prototype);
        (void)h2o_buffer_reserve(&input, 1);
        free(input);
    }
}
