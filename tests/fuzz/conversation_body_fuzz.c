/* The bodies of create and update: any input is either accepted within all limits or refused with
   an error. */
#include <stdint.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "services/conversation/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hold(bool condition)
{
    if (!condition)
        abort();
}

static void check_create(const struct create_body *body)
{
    const struct body_from *const from = &body->from;

    must_hold(text_length(body->external_id) >= 1 && text_length(body->external_id) <= 255);
    must_hold(!text_has_outer_space(body->external_id) && !text_has_nul(body->external_id));
    must_hold((from->external_id.p == NULL) != (from->id.p == NULL));
    must_hold(text_length(from->name) <= 255 && text_length(from->email) <= 255);
    must_hold(text_length(from->phone) <= 50 && !text_has_outer_space(from->phone));
    must_hold(body->custom_attributes.n_values <= ATTRIBUTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    static struct arena arena = {.cap = 64 << 20};
    struct errors errors;
    struct create_body create;
    struct update_body update;

    errors_init(&errors, &arena);
    if (create_body_read(text, &create, &errors))
        check_create(&create);
    else
        must_hold(errors.n >= 1 && errors.n <= ERRORS_MAX);

    errors_init(&errors, &arena);
    if (update_body_read(text, &update, &errors))
        must_hold(update.custom_attributes.given &&
                  update.custom_attributes.n_values <= ATTRIBUTES_MAX);
    else
        must_hold(errors.n >= 1 && errors.n <= ERRORS_MAX);
    arena_clear(&arena);
    return 0;
}
