#include "common/edge/pulse.h"

void pulse_init(struct pulse *pulse, unsigned patience_ms)
{
    *pulse = (struct pulse){.patience = patience_ms / PULSE_MS};
}

bool pulse_turn(struct pulse *pulse)
{
    if (pulse->awaited) {
        pulse->missed++;
        return pulse->missed % PULSE_AGAIN == 0;
    }
    pulse->awaited = true;
    pulse->missed = 0;
    return true;
}

void pulse_heard(struct pulse *pulse)
{
    pulse->awaited = false;
    pulse->missed = 0;
}

void pulse_lost(struct pulse *pulse)
{
    pulse_heard(pulse);
}

bool pulse_is_silent(const struct pulse *pulse)
{
    return pulse->missed >= pulse->patience;
}

bool pulse_is_given_up(const struct pulse *pulse)
{
    return pulse->missed >= pulse->patience + PULSE_HOPE;
}
