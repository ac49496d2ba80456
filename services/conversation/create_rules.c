#include "services/conversation/create_rules.h"

enum create_result create_decide(const struct create_found *found)
{
    if (found->is_created)
        return CREATE_MADE;
    if (found->exists && found->is_erased)
        return CREATE_CUSTOMER_UNAVAILABLE;
    if (found->names_contact_by_id && !found->contact_is_known)
        return CREATE_CONTACT_UNKNOWN;
    if (found->exists && (found->is_deleted || !found->is_same_contact))
        return CREATE_EXTERNAL_ID_TAKEN;
    if (found->exists)
        return CREATE_REPLAYED;
    if (found->email_is_taken || found->phone_is_taken)
        return CREATE_PROFILE_TAKEN;
    return CREATE_RACED;
}
