/*
 * fuzz - what the targets of this folder share.
 *
 *     LLVMFuzzerTestOneInput()   each target's own: parses the input, and aborts if a property of
 *                                the result does not hold
 *     fuzz_quiet()               once, before the first input: refusals are not logged
 *     fuzz_message_open()        the input as a message of the bus
 *
 * What     The text of a message is its headers, one `Name=value` a line, an empty line, and the
 *          body, so seeds can be read and written by hand. A line that cannot be a header is
 *          skipped.
 * Owns     A message owns nothing that outlives the next fuzz_message_open().
 * Threads  One.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>

#include "common/base/log.h"
#include "common/base/str.h"

struct bus_message;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

void fuzz_quiet(void);

/* The caller must not free the message. */
struct bus_message *fuzz_message_open(struct str text);

/* Aborts unless the text is valid JSON. */
void fuzz_must_be_json(struct str text);

#endif
