#include "common/db/params.h"

#include <inttypes.h>

#include "common/base/log.h"

void params_add(struct params *params, struct str value)
{
    must(params->n < PARAMS_MAX);
    params->at[params->n++] = value;
}

void params_add_bool(struct params *params, bool value)
{
    params_add(params, value ? STR("true") : STR("false"));
}

void params_add_int(struct params *params, struct arena *arena, int64_t value)
{
    params_add(params, str_of(arena_printf(arena, "%" PRId64, value)));
}

void params_add_id(struct params *params, struct arena *arena, const struct uuid *id)
{
    char *text = arena_alloc(arena, UUID_TEXT + 1);

    uuid_format(id, text);
    params_add(params, str_of(text));
}
