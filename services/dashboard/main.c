/* dashboard - the pages by which people look after their organization, and the data behind them. */
#include "services/dashboard/dashboard.h"

int main(int argc, char **argv)
{
    return edge_program_main(argc, argv, &dashboard_program);
}
