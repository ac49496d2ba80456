/*
 * number_text - the numbers of a JSON text as they were spelled.
 *
 * What     A tree keeps a decimal as a double, which is not what the client sent. Here each number
 *          of the tree is put beside its text, in what the tree was read from.
 * Owns     The list lives in the arena; texts point into what was read, numbers into the tree.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_NUMBER_TEXT_H
#define SERVICES_SEARCH_NUMBER_TEXT_H

#include "common/base/arena.h"
#include "common/wire/json.h"

struct number_text {
    const json_t *number;
    struct str text;
};

struct number_texts {
    struct number_text *at; /* in the order of the document */
    size_t n;
};

/* `root` is what json_read() made of `text`. False: they do not have as many numbers. */
MUST_CHECK bool number_texts_read(struct str text, json_t *root, struct arena *arena,
                                  struct number_texts *out);

/* The text of a number of that tree. */
struct str number_texts_find(const struct number_texts *numbers, const json_t *number);

#endif
