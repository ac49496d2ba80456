/*
 * literals - the numbers of a JSON text as they were spelled.
 *
 * What     A tree keeps a decimal as a double, which is not what the client sent. Here each number
 *          of the tree is put beside its literal in the text that the tree was read from.
 * Owns     The list lives in the arena; literals point into the text, numbers into the tree.
 * Threads  Any; pure.
 */
#ifndef SERVICES_SEARCH_LITERALS_H
#define SERVICES_SEARCH_LITERALS_H

#include "common/base/arena.h"
#include "common/wire/json.h"

struct literal {
    const json_t *number;
    struct str text;
};

struct literals {
    struct literal *at; /* in the order of the document */
    size_t n;
};

/* `root` is what json_read() made of `text`. */
void literals_read(struct str text, json_t *root, struct arena *arena, struct literals *out);

/* The literal of a number of that tree. */
struct str literals_find(const struct literals *literals, const json_t *number);

#endif
