/* gateway - speaks HTTP with the customers' backends, and the bus with the services. */
#include "services/gateway/gateway.h"

int main(int argc, char **argv)
{
    return edge_program_main(argc, argv, &gateway_program);
}
