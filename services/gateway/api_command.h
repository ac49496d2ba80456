/*
 * api_command - the stages of an API request that call services: its command, and its entry in the
 * audit log.
 *
 * What     A stage is run when it is entered (api_request.h) and again when it was parked. It moves
 *          the request on when the reply is there. What is late is given up: a command that was
 *          sent may have been carried out.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_API_COMMAND_H
#define SERVICES_GATEWAY_API_COMMAND_H

struct api_request;

void api_command_run(struct api_request *request);
void api_command_late(struct api_request *request);

void api_command_record(struct api_request *request);
void api_command_record_late(struct api_request *request);

#endif
