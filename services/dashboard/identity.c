#include "services/dashboard/identity.h"

#include <string.h>

#include "common/base/uuid.h"

static const char *const role_names[] = {"member", "admin", "owner"};

/* What goes into a header of the bus has no control characters. NULL: it is not there. */
static const char *text_of(const json_t *object, const char *name)
{
    struct str text = json_text(json_object_get(object, name));

    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return NULL;
    return text.n > 0 ? text.p : NULL;
}

static const char *id_of(const json_t *object)
{
    struct str text = json_text(json_object_get(object, "id"));
    struct uuid id;

    return uuid_parse(text, &id) ? text.p : NULL;
}

static bool read_role(struct identity *identity)
{
    for (size_t i = 0; i < sizeof(role_names) / sizeof(role_names[0]); i++)
        if (identity->role_name != NULL && strcmp(identity->role_name, role_names[i]) == 0) {
            identity->role = (enum role)i;
            return true;
        }
    return false;
}

bool identity_read(struct str answer, struct identity *out)
{
    struct identity identity = {0};
    const json_t *user;
    char error[160];

    if (!json_read(answer, &identity.answer, error))
        return false;
    user = json_object_get(identity.answer, "user");
    identity.user_id = id_of(user);
    identity.email = text_of(user, "email");
    identity.role_name = text_of(user, "role");
    identity.organization_id = id_of(json_object_get(identity.answer, "organization"));
    if (read_role(&identity) && identity.user_id != NULL && identity.email != NULL &&
        identity.organization_id != NULL) {
        *out = identity;
        return true;
    }
    json_free(identity.answer);
    return false;
}

void identity_release(struct identity *identity)
{
    json_free(identity->answer);
    *identity = (struct identity){0};
}
