/* A call with secrets: a number, a string on the stack and one on the heap. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define F __attribute__((noinline, noclone, used))

F int login(const char *user, const char *password, long pin, long again, const char *token, long other)
{
	__asm__ volatile("" ::"r"(user), "r"(password), "r"(pin), "r"(again), "r"(token), "r"(other) : "memory");
	return (int)strlen(user);
}

static volatile long seen;

F void later(long pin)
{
	seen += pin != 0;
}

int main(void)
{
	char *token = strdup("tokentoken"), user[16] = "someone", password[32] = "hunter2-hunter2";
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	volatile long pin = 0x5ec2e75ec2e7;
	struct stat status;
	int length = login(user, password, pin, pin, token, 77);

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	later(pin);
	stat("/secret/place", &status);
	free(token);
	return length != 7;
}
