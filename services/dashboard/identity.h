/*
 * identity - who is signed in, as access says for each request: a role that was taken away or a
 * session that was ended counts at once.
 *
 * Owns     The tree that it points into; identity_release().
 * Threads  The loop's.
 */
#ifndef DASHBOARD_IDENTITY_H
#define DASHBOARD_IDENTITY_H

#include <stdbool.h>

#include "common/wire/json.h"

enum role { ROLE_MEMBER, ROLE_ADMIN, ROLE_OWNER };

struct identity {
    json_t *answer; /* of v1.access.session-check; NULL = none */
    const char *user_id, *email, *organization_id, *role_name;
    enum role role;
};

/* False: the answer lacks something, or holds what cannot be passed on in a header. */
MUST_CHECK bool identity_read(struct str answer, struct identity *out);
void identity_release(struct identity *identity);

#endif
