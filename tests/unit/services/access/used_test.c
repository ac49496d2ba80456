#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"
#define ZEROS   "0,0,0,0,0,0,0,0,0,0,0,0,0"
#define A_KEY                                                                                      \
    "{\"organization_id\":\"" JUDGED_ORGANIZATION "\",\"api_key_id\":\"" JUDGED_KEY "\",\"at\":1"

/* Parameters of the statement. */
enum { ORGANIZATIONS, KEYS, TIMES, MINUTES, OUTCOMES, LATENCY };

Test(used, tells_when_keys_were_used_and_what_for)
{
    struct judged judged;

    judged_accepts(&judged, used_judge,
                   "{\"keys\":[" A_KEY ",\"minute\":7,\"limited\":5,\"allowed\":3,"
                   "\"latency\":[1,0,0,0,0,0,0,0,0,0,0,0,7]},"
                   "{\"organization_id\":\"" JUDGED_KEY "\",\"api_key_id\":\"" JUDGED_ORGANIZATION
                   "\",\"at\":2}]}");
    cr_assert_eq(judged.ask->statement, SQL_NOTE_USED);
    judged_param(&judged, ORGANIZATIONS, "{" JUDGED_ORGANIZATION "," JUDGED_KEY "}");
    judged_param(&judged, KEYS, "{" JUDGED_KEY "," JUDGED_ORGANIZATION "}");
    judged_param(&judged, TIMES, "{1,2}");
    judged_param(&judged, MINUTES, "{7,NULL}");
    judged_param(&judged, OUTCOMES, "{3,0,0,0,5,0,0,0,0,0}");
    judged_param(&judged, LATENCY, "{1,0,0,0,0,0,0,0,0,0,0,0,7," ZEROS "}");
    arena_release(&judged.arena);
}

Test(used, is_told_which_of_the_keys_is_wrong)
{
    judged_refuses(used_judge, "{\"keys\":[]}", INVALID, "keys");
    judged_refuses(used_judge, "{\"keys\":[{}]}", "parameter_not_found", "keys[0].organization_id");
    judged_refuses(used_judge,
                   "{\"keys\":[{\"organization_id\":\"x,y}\",\"api_key_id\":\"" JUDGED_KEY
                   "\",\"at\":1}]}",
                   INVALID, "keys[0].organization_id");
    judged_refuses(used_judge, "{\"keys\":[" A_KEY ",\"latency\":[1]}]}", INVALID,
                   "keys[0].latency");
    judged_refuses(used_judge, "{\"keys\":[" A_KEY ",\"denied\":-1}]}", INVALID, "keys[0].denied");
}
