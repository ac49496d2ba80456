#include "services/conversation/create_groups.h"

/* Absent equals absent. */
static bool is_same(struct str a, struct str b)
{
    return (a.p == NULL) == (b.p == NULL) && str_equal(a, b);
}

/* Both are given, and equal. */
static bool is_shared(struct str a, struct str b)
{
    return a.p != NULL && b.p != NULL && str_equal(a, b);
}

static bool is_same_contact(const struct body_from *a, const struct body_from *b)
{
    return is_same(a->external_id, b->external_id) && is_same(a->id, b->id);
}

static bool is_same_profile(const struct body_from *a, const struct body_from *b)
{
    return is_same(a->name, b->name) && is_same(a->email, b->email) && is_same(a->phone, b->phone);
}

static bool may_share(const struct create_request *a, const struct create_request *b)
{
    const struct body_from *const x = &a->body.from, *const y = &b->body.from;

    if (!str_equal(a->organization_id, b->organization_id))
        return true;
    if (str_equal(a->body.external_id, b->body.external_id))
        return false;
    if (is_same_contact(x, y))
        return is_same_profile(x, y);
    /* An id and an external id may name the same contact: it is unknown before the lookup. */
    return (x->id.p == NULL) == (y->id.p == NULL) && !is_shared(x->email, y->email) &&
           !is_shared(x->phone, y->phone);
}

/* Whether `request` can join `group`; a contact that is there already is noted in *same. */
static bool may_join(struct create_request *const *group, size_t n,
                     const struct create_request *request, const struct create_request **same)
{
    *same = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!may_share(group[i], request))
            return false;
        if (str_equal(group[i]->organization_id, request->organization_id) &&
            is_same_contact(&group[i]->body.from, &request->body.from))
            *same = group[i];
    }
    return true;
}

size_t create_group(struct create_request *const *requests, size_t n)
{
    const struct create_request *same;
    size_t i = 1;

    while (i < n && may_join(requests, i, requests[i], &same)) {
        if (same != NULL)
            requests[i]->new_contact_id = same->new_contact_id;
        i++;
    }
    return i;
}
