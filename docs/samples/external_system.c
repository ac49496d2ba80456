/*
 * An external system on the bus: tells that a ticket was created or resolved, so that the
 * organization's webhooks hear of it. proto/asyncapi.yaml describes what is said here, and all the
 * rest.
 *
 *     cc -o external external_system.c -lnats
 *     NATS_URL=nats://neighbour:PASSWORD@HOST:4222 ./external ORGANIZATION ticket.created TICKET
 *
 * Prints the event that is stored now. Any other end leaves it unknown: trying again may publish a
 * second event, so receivers tell tickets by their id.
 */
#include <inttypes.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 5000, CAPACITY = 1024 };

static natsStatus connect_bus(natsOptions **options, natsConnection **bus)
{
    natsStatus s = natsOptions_Create(options);

    if (s == NATS_OK)
        s = natsOptions_SetURL(*options, getenv("NATS_URL"));
    /* The only subjects below which this user may listen. */
    if (s == NATS_OK)
        s = natsOptions_SetCustomInboxPrefix(*options, "_INBOX.neighbour");
    if (s == NATS_OK && getenv("NATS_CA_FILE") != NULL)
        s = natsOptions_LoadCATrustedCertificates(*options, getenv("NATS_CA_FILE"));
    if (s == NATS_OK && getenv("NATS_CA_FILE") != NULL)
        s = natsOptions_SetSecure(*options, true);
    return s == NATS_OK ? natsConnection_Connect(bus, *options) : s;
}

/* Who it is about, and until when it may still be begun. */
static natsStatus make_request(natsMsg **request, const char *organization, const char *type,
                               const char *ticket)
{
    char deadline[24], body[CAPACITY];
    int n =
        snprintf(body, sizeof(body), "{\"type\":\"%s\",\"data\":{\"id\":\"%s\",\"status\":\"%s\"}}",
                 type, ticket, strcmp(type, "ticket.resolved") == 0 ? "closed" : "open");
    natsStatus s = n < CAPACITY ? natsMsg_Create(request, "v1.webhook.publish", NULL, body, n)
                                : NATS_INVALID_ARG;

    snprintf(deadline, sizeof(deadline), "%" PRId64, nats_Now() + TIMEOUT_MS);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(*request, "Organization-Id", organization);
    return s == NATS_OK ? natsMsgHeader_Set(*request, "Deadline", deadline) : s;
}

int main(int argc, char **argv)
{
    natsOptions *options = NULL;
    natsConnection *bus = NULL;
    natsMsg *request = NULL, *reply = NULL;
    const char *outcome = "";
    natsStatus s;

    if (argc != 4 || getenv("NATS_URL") == NULL || strpbrk(argv[3], "\"\\") != NULL) {
        fprintf(stderr, "usage: NATS_URL=... external ORGANIZATION TYPE TICKET\n");
        return 2;
    }
    s = connect_bus(&options, &bus);
    if (s == NATS_OK)
        s = make_request(&request, argv[1], argv[2], argv[3]);
    if (s == NATS_OK)
        s = natsConnection_RequestMsg(&reply, bus, request, TIMEOUT_MS);
    if (s == NATS_OK)
        s = natsMsgHeader_Get(reply, "Outcome", &outcome);
    if (s == NATS_OK) /* {"id","type"}, or what is wrong: [{"code","message","field"?}] */
        printf("%s %.*s\n", outcome, natsMsg_GetDataLength(reply), natsMsg_GetData(reply));
    else
        fprintf(stderr, "external: %s\n", natsStatus_GetText(s));
    natsMsg_Destroy(reply);
    natsMsg_Destroy(request);
    natsConnection_Destroy(bus);
    natsOptions_Destroy(options);
    nats_Close();
    return s == NATS_OK && strcmp(outcome, "ok") == 0 ? 0 : 1;
}
