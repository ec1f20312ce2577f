/* A call that sleeps. */
#include "causes.h"

OUT void back_off(int us)
{
	usleep(us);
}

OUT void serve(void)
{
	back_off(caused ? LONG_US : 1);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	serve();
	end();
}
