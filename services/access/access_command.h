/*
 * inputs - members of a body that several commands have: for fields of the kind FIELD_CUSTOM.
 *
 * Threads  Any; pure.
 */
#ifndef SERVICES_ACCESS_ACCESS_COMMAND_H
#define SERVICES_ACCESS_ACCESS_COMMAND_H

#include "common/json/fields.h"
#include "services/access/passwords.h"

/* Each writes a struct str. */
void input_email(json_t *value, const char *path, void *slot, struct errors *errors);
void input_hash(json_t *value, const char *path, void *slot, struct errors *errors);
void input_address(json_t *value, const char *path, void *slot, struct errors *errors);

/* Ids are case-sensitive: one in capitals is well-formed and names nothing, as the nil UUID does.
 */
struct str input_exact_id(struct str id);

#define INPUT(type, member, reader, must_be)                                                       \
    {                                                                                              \
        .name = #member, .kind = FIELD_CUSTOM, .required = (must_be), .read = (reader),            \
        .offset = offsetof(struct type, member)                                                    \
    }
#define INPUT_ID(type, member, must_be)                                                            \
    {                                                                                              \
        .name = #member, .kind = FIELD_UUID, .required = (must_be),                                \
        .offset = offsetof(struct type, member)                                                    \
    }
#define INPUT_TEXT(type, member, from, to)                                                         \
    {                                                                                              \
        .name = #member, .kind = FIELD_TEXT, .required = true, .min = (from), .max = (to),         \
        .offset = offsetof(struct type, member)                                                    \
    }

#endif
