/*
 * pulse - whether the bus is alive, told by messages that a program sends to itself.
 *
 * What     One beat is under way at a time; another follows when it stays away for long, for a bus
 *          may lose a message and live. Its absence is measured in turns of our own timer, not in
 *          time: when the program itself was held up, the timer was too.
 * Threads  One.
 */
#ifndef COMMON_EDGE_PULSE_H
#define COMMON_EDGE_PULSE_H

#include <stdbool.h>

#define PULSE_MS    25
#define PULSE_AGAIN 40 /* turns after which a beat counts as lost and is followed by another */
#define PULSE_HOPE  3  /* turns of silence in which it may well be a lack of processors */

struct pulse {
    unsigned patience; /* turns without an answer that make the bus silent */
    bool awaited;
    unsigned missed; /* turns since the beat was sent, its own not counted */
};

void pulse_init(struct pulse *pulse, unsigned patience_ms);

/* A turn of the timer; true: send a beat now. */
bool pulse_turn(struct pulse *pulse);
void pulse_heard(struct pulse *pulse);
/* The beat could not be sent, or went down with the link. */
void pulse_lost(struct pulse *pulse);
bool pulse_is_silent(const struct pulse *pulse);
/* Silent for so long that nobody should wait for it. */
bool pulse_is_given_up(const struct pulse *pulse);

#endif
