/*
 * An external system on the bus: tells that a ticket was created or resolved, so that the
 * organization's webhooks hear of it. proto/asyncapi.yaml describes what is said here, and all the
 * rest.
 *
 *     cc -o external external_system.c -lnats
 *     NATS_URL=nats://external:PASSWORD@HOST:4222 ./external ORGANIZATION ticket.created TICKET
 *
 * Prints the event that is stored now. Any other end leaves it unknown: trying again may publish a
 * second event, so receivers tell tickets by their id.
 */
#include <inttypes.h>
#include <nats/nats.h>
#include <stdbool.h>
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
        s = natsOptions_SetCustomInboxPrefix(*options, "_INBOX.external");
    if (s == NATS_OK && getenv("NATS_CA_FILE") != NULL)
        s = natsOptions_LoadCATrustedCertificates(*options, getenv("NATS_CA_FILE"));
    if (s == NATS_OK && getenv("NATS_CA_FILE") != NULL)
        s = natsOptions_SetSecure(*options, true);
    if (s == NATS_OK && getenv("NATS_CREDS_FILE") != NULL)
        s = natsOptions_SetUserCredentialsFromFiles(*options, getenv("NATS_CREDS_FILE"), NULL);
    return s == NATS_OK ? natsConnection_Connect(bus, *options) : s;
}

/* One request about an organization, and the reply to it; until when it may still be begun. */
static natsStatus ask(natsConnection *bus, const char *subject, const char *organization,
                      const char *body, natsMsg **reply)
{
    char deadline[24];
    natsMsg *request = NULL;
    natsStatus s = natsMsg_Create(&request, subject, NULL, body, (int)strlen(body));

    snprintf(deadline, sizeof(deadline), "%" PRId64, nats_Now() + TIMEOUT_MS);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(request, "Organization-Id", organization);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(request, "Deadline", deadline);
    if (s == NATS_OK)
        s = natsConnection_RequestMsg(reply, bus, request, TIMEOUT_MS);
    natsMsg_Destroy(request);
    return s;
}

static const char *outcome_of(natsMsg *reply)
{
    const char *outcome = "";

    return natsMsgHeader_Get(reply, "Outcome", &outcome) == NATS_OK ? outcome : "";
}

/* The webhooks of an organization are in its cell. A program that publishes often keeps the answer, and asks
   again after a minute, or when it is told `unavailable`. */
static natsStatus find_subject(natsConnection *bus, const char *organization, char *subject)
{
    natsMsg *reply = NULL;
    char text[CAPACITY], cell[17] = "main";
    const char *found;
    natsStatus s = ask(bus, "v1.access.org-cell", organization, "", &reply);

    if (s == NATS_OK) {
        snprintf(text, sizeof(text), "%.*s", natsMsg_GetDataLength(reply), natsMsg_GetData(reply));
        found = strstr(text, "\"cell\":\"");
        if (strcmp(outcome_of(reply), "ok") != 0 || found == NULL ||
            sscanf(found, "\"cell\":\"%16[a-z0-9]", cell) != 1) {
            fprintf(stderr, "external: %s %s\n", outcome_of(reply), text);
            s = NATS_ERR;
        }
    }
    if (strcmp(cell, "main") == 0)
        snprintf(subject, CAPACITY, "v1.webhook.publish");
    else
        snprintf(subject, CAPACITY, "v1.%s.webhook.publish", cell);
    natsMsg_Destroy(reply);
    return s;
}

static natsStatus publish(natsConnection *bus, char **argv, bool *is_stored)
{
    char body[CAPACITY], subject[CAPACITY];
    natsMsg *reply = NULL;
    const int n =
        snprintf(body, sizeof(body), "{\"type\":\"%s\",\"data\":{\"id\":\"%s\",\"status\":\"%s\"}}",
                 argv[2], argv[3], strcmp(argv[2], "ticket.resolved") == 0 ? "closed" : "open");
    natsStatus s = n < CAPACITY ? find_subject(bus, argv[1], subject) : NATS_INVALID_ARG;

    if (s == NATS_OK)
        s = ask(bus, subject, argv[1], body, &reply);
    if (s == NATS_OK) { /* {"id","type"}, or what is wrong: [{"code","message","field"?}] */
        printf("%s %.*s\n", outcome_of(reply), natsMsg_GetDataLength(reply),
               natsMsg_GetData(reply));
        *is_stored = strcmp(outcome_of(reply), "ok") == 0;
    }
    natsMsg_Destroy(reply);
    return s;
}

int main(int argc, char **argv)
{
    natsOptions *options = NULL;
    natsConnection *bus = NULL;
    bool is_stored = false;
    natsStatus s;

    if (argc != 4 || getenv("NATS_URL") == NULL || strpbrk(argv[3], "\"\\") != NULL) {
        fprintf(stderr, "usage: NATS_URL=... external ORGANIZATION TYPE TICKET\n");
        return 2;
    }
    s = connect_bus(&options, &bus);
    if (s == NATS_OK)
        s = publish(bus, argv, &is_stored);
    if (s != NATS_OK)
        fprintf(stderr, "external: %s\n", natsStatus_GetText(s));
    natsConnection_Destroy(bus);
    natsOptions_Destroy(options);
    nats_Close();
    return is_stored ? 0 : 1;
}
