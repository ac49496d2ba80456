#include "common/base/status.h"

const char *status_name(enum status st)
{
    switch (st) {
    case ST_OK:
        return "ok";
    case ST_REFUSED:
        return "refused";
    case ST_RETRY:
        return "retry";
    case ST_UNAVAILABLE:
        return "unavailable";
    case ST_UNCERTAIN:
        return "uncertain";
    case ST_INTERNAL:
        return "internal";
    }
    return "?";
}
