/*
 * headers - the context that travels beside the body of every message on the bus.
 *
 * A request carries REQUEST_ID and DEADLINE always; the others where they apply. A reply carries
 * OUTCOME always: its body is the finished resource when the outcome is a success, else the array
 * of errors that stands under "errors" in the envelope.
 */
#ifndef PROTO_HEADERS_H
#define PROTO_HEADERS_H

#define HEADER_REQUEST_ID   "Request-Id"      /* UUIDv7, made by the gateway */
#define HEADER_DEADLINE     "Deadline"        /* Unix milliseconds; later than this: do not start */
#define HEADER_ORGANIZATION "Organization-Id" /* UUID */
#define HEADER_API_KEY      "Api-Key-Id"      /* UUID; absent when no API key asks */
#define HEADER_SCOPE        "Scope"           /* read or full */
/* The id in the path, as the client sent it; in the reply `created`, that of the new conversation. */
#define HEADER_RESOURCE    "Resource-Id"
#define HEADER_QUERY       "Query"          /* the raw query string */
#define HEADER_USER        "User-Id"        /* UUID; the user signed in to the dashboard */
#define HEADER_USER_EMAIL  "User-Email"     /* the same user's; absent if not signed in */
#define HEADER_CLIENT      "Client-Address" /* IP address from which the user asks */
#define HEADER_TRACEPARENT "traceparent"    /* W3C trace context: trace and asking span */

#define HEADER_OUTCOME "Outcome" /* a name from proto/outcome.def */

/* With `rate_limit_exceeded`, from a service that limits by itself: seconds to wait. */
#define HEADER_RETRY_AFTER "Retry-After"

/* `no`: the service could not write the audit entry beside its work (it reads from a replica of the
   database); the gateway records it. `already`, in the reply to audit.append: the audit log had an
   entry for the request, which stays as it is and may tell of another outcome. Absent otherwise. */
#define HEADER_RECORDED "Recorded"
/* The contact that this entry shall name: beside `Recorded: no`, and in audit.append. */
#define HEADER_CONTACT "Contact-Id"

/* audit.append only: what the gateway answered by itself. */
#define HEADER_OPERATION "Operation"   /* a name from proto/operation.def */
#define HEADER_STATUS    "Http-Status" /* three digits */
#define HEADER_CODE      "Error-Code"  /* a code from proto/outcome.def; absent for 2xx */

#endif
