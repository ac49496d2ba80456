/*
 * headers - the context that travels with the body of every message on the bus.
 *
 * A request always has REQUEST_ID and DEADLINE, and the others if they apply. REQUEST_ID is for
 * the audit log and the logs; a reply is matched by the handle of its bundle (common/bus/bundle.h). A reply always has
 * OUTCOME; its body is the finished resource if the outcome is a success, and otherwise the array of
 * errors that is the value of "errors" in the response.
 */
#ifndef PROTO_HEADERS_H
#define PROTO_HEADERS_H

#define HEADER_REQUEST_ID   "Request-Id"      /* UUIDv7, made by the gateway */
#define HEADER_DEADLINE     "Deadline"        /* Unix milliseconds; later than this: do not start */
#define HEADER_ORGANIZATION "Organization-Id" /* UUID */
#define HEADER_API_KEY      "Api-Key-Id"      /* UUID; absent without an API key */
#define HEADER_SCOPE        "Scope"           /* read or full */
/* The id in the path, as the client sent it; in the reply `created`, the id of the new
   conversation. */
#define HEADER_RESOURCE    "Resource-Id"
#define HEADER_QUERY       "Query"          /* the raw query string */
#define HEADER_USER        "User-Id"        /* UUID; the user signed in to the dashboard */
#define HEADER_USER_EMAIL  "User-Email"     /* the same user's; absent if not signed in */
#define HEADER_CLIENT      "Client-Address" /* the user's IP address */
#define HEADER_TRACEPARENT "traceparent"    /* W3C trace context: trace and calling span */

#define HEADER_OUTCOME "Outcome" /* a name from proto/outcome.def */

/* With `rate_limit_exceeded`, from a service with a limit of its own: seconds to wait. */
#define HEADER_RETRY_AFTER "Retry-After"

/* `no`: the service cannot write the audit entry with its work (it reads from a replica of the
   database); the gateway records it. `already`, in the reply to audit.append: the audit log already
   has an entry for the request, which is kept and may have another outcome. Absent otherwise. */
#define HEADER_RECORDED "Recorded"
/* The contact in that entry: with `Recorded: no`, and in audit.append. */
#define HEADER_CONTACT "Contact-Id"

/* Only in audit.append: the answer that the gateway gave by itself. */
#define HEADER_OPERATION "Operation"   /* a name from proto/operation.def */
#define HEADER_STATUS    "Http-Status" /* three digits */
#define HEADER_CODE      "Error-Code"  /* a code from proto/outcome.def; absent for 2xx */

#endif
