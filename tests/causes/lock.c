/* A lock that another thread holds while it sleeps. */
#include "holder.h"

OUT void serve(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	serve_beside_holder(argc, argv, serve);
}
