/* The parts of a request that the dashboard parses itself. The input's lines are, in order: path,
   query, Cookie, Origin, Accept-Encoding, If-None-Match. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "services/dashboard/action.h"
#include "services/dashboard/asset.h"
#include "services/dashboard/identity.h"

static const struct parameter list[] = {{"name", false}, {"count", true}, {NULL, false}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_path(struct str path)
{
    const struct asset *asset = asset_find(path);
    struct action_match match;

    must(asset == NULL || asset->plain.bytes.n > 0);
    action_find(STR("GET"), path, &match);
    must(match.end != ACTION_FOUND || (match.action != NULL && match.id.n <= 64));
}

/* Accepted parameters become JSON that can be written and read back the same. */
static void read_query(struct str query)
{
    json_t *object = json_object(), *again;
    char field[64] = "", error[160];
    char *text;

    if (parameters_read(query, list, object, field)) {
        text = json_dumps(object, JSON_COMPACT);
        must(text != NULL && json_read(str_of(text), &again, error));
        must(json_equal(object, again));
        json_free(again);
        free(text);
    }
    must(strlen(field) < sizeof(field));
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = {(const char *)data, n};
    struct str path = str_cut(&rest, '\n'), query = str_cut(&rest, '\n');
    struct str cookie = str_cut(&rest, '\n'), origin = str_cut(&rest, '\n');
    struct str encoding = str_cut(&rest, '\n'), tags = str_cut(&rest, '\n');
    struct str token = cookie_token(&cookie, 1, false);

    read_path(path);
    read_query(query);
    must(token.p == NULL || token.n == COOKIE_TOKEN_TEXT);
    must(!origin_is_own(origin, true, STR("desk.example")) ||
         str_equal_nocase(origin, STR("https://desk.example")));
    (void)asset_may_be_packed(encoding);
    (void)asset_is_known(&assets[0].plain, tags);
    return 0;
}
