/*
 * rate - how much of something may be used at once, and how much with time (a token bucket).
 *
 * What     A price is the time in which it is earned back. Zeros: nothing was spent. A time that is
 *          earlier than the latest one earns nothing.
 */
#ifndef COMMON_BASE_RATE_H
#define COMMON_BASE_RATE_H

#include <stdint.h>

struct rate {
    int64_t spent_us; /* as of as_of_us, by clock_mono_us() */
    int64_t as_of_us;
};

static inline void rate_earn(struct rate *rate, int64_t now_us)
{
    const int64_t earned_us = now_us - rate->as_of_us;

    if (earned_us <= 0)
        return;
    rate->spent_us = rate->spent_us > earned_us ? rate->spent_us - earned_us : 0;
    rate->as_of_us = now_us;
}

/* Spends the price. If more than `max_us` would be spent then, returns how long until it can be, and
   spends nothing. */
static inline int64_t rate_take(struct rate *rate, int64_t price_us, int64_t max_us, int64_t now_us)
{
    rate_earn(rate, now_us);
    if (rate->spent_us + price_us > max_us)
        return rate->spent_us + price_us - max_us;
    rate->spent_us += price_us;
    return 0;
}

/* Spends the price in any case, or what is left of `max_us`. */
static inline void rate_charge(struct rate *rate, int64_t price_us, int64_t max_us, int64_t now_us)
{
    rate_earn(rate, now_us);
    rate->spent_us = price_us < max_us - rate->spent_us ? rate->spent_us + price_us : max_us;
}

/* Gives back a price that was spent, unless less than that is spent by now. */
static inline void rate_refund(struct rate *rate, int64_t price_us)
{
    if (rate->spent_us >= price_us)
        rate->spent_us -= price_us;
}

#endif
