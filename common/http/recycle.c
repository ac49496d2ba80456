#include "common/http/recycle.h"

#include <h2o.h>
#include <stdlib.h>

enum { KEPT_MAX = 16 }; /* h2o 2.2.5's own bound, for each kind */

/* There is no call for it: take each block out of the store and hand it to free() instead of h2o.
 */
void recycle_release(void)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        h2o_mem_pool_t pool;
        h2o_mem_init_pool(&pool);
        (void)h2o_mem_alloc_pool(&pool, 1);
        free(pool.chunks);

        h2o_buffer_t *input;
        h2o_buffer_init(&input, &h2o_socket_buffer_prototype);
        (void)h2o_buffer_reserve(&input, 1);
        free(input);
    }
}
