#include "common/http/media.h"

static struct str trim_and_cut(struct str *rest, char sep)
{
    return str_trim_ows(str_cut(rest, sep));
}

/* How closely a media range fits application/json: 0 = not at all. */
static int closeness(struct str range)
{
    if (str_equal_nocase(range, STR("application/json")))
        return 3;
    if (str_equal_nocase(range, STR("application/*")))
        return 2;
    return str_equal(range, STR("*/*")) ? 1 : 0;
}

/* A weight is 0 to 1 with up to three decimals (RFC 9110, 12.4.2). Returns whether it is above 0;
   what is no weight counts as none given. */
static bool is_above_zero(struct str weight)
{
    for (size_t i = 0; i < weight.n; i++)
        if (weight.p[i] != '0' && weight.p[i] != '.')
            return true;
    return weight.n == 0;
}

static bool is_wanted(struct str parameters)
{
    while (parameters.p != NULL) {
        struct str parameter = trim_and_cut(&parameters, ';');

        if (str_starts(parameter, STR("q=")) || str_starts(parameter, STR("Q=")))
            return is_above_zero(str_skip(parameter, 2));
    }
    return true;
}

bool media_accepts_json(const struct str *values, size_t n)
{
    int closest = 0;
    bool wanted = false, any = false;

    for (size_t i = 0; i < n; i++) {
        struct str rest = values[i];

        while (rest.p != NULL) {
            struct str parameters = str_cut(&rest, ',');
            struct str range = trim_and_cut(&parameters, ';');
            int fit = closeness(range);

            any |= range.n > 0;
            if (fit == 0 || fit < closest)
                continue;
            wanted = is_wanted(parameters) || (fit == closest && wanted);
            closest = fit;
        }
    }
    return wanted || !any;
}

bool media_is_json(struct str value)
{
    struct str rest = value;
    struct str type = trim_and_cut(&rest, ';');

    return str_equal_nocase(type, STR("application/json"));
}
