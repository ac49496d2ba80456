/*
 * fuzz - what the targets of this folder share.
 *
 *     LLVMFuzzerTestOneInput()   each target's own: parses the input, and aborts where a property of the
 *                                result does not hold
 *     fuzz_quiet()               once, before the first input: refusals are not logged
 *     fuzz_message_open()        the input as a message of the bus
 *
 * What     As text, a message is headers, a `Name=value` a line, an empty line, and the body: seeds can be
 *          read and written by hand. A line that no header can be is passed over.
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

/* Not to be freed. */
struct bus_message *fuzz_message_open(struct str text);

/* The text reads as JSON. */
void fuzz_must_be_json(struct str text);

#endif
