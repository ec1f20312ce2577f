/* A call with secrets: a number, a string on the stack and one on the heap. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define F __attribute__((noinline, noclone, used))

F int login(const char *user, const char *password, long pin, long again, const char *token, long other)
{
	int length;

	__asm__ volatile("" ::"r"(user), "r"(password), "r"(pin), "r"(again), "r"(token), "r"(other) : "memory");
	length = (int)strlen(user);
	__asm__ volatile("" ::"d"(pin)); /* where it is left; some CPUs' strlen has another use for rdx */
	return length;
}

static volatile long seen;

/* What the password points at is in xmm0, as where it was copied. */
F void enter(const char *password, double copy)
{
	__asm__ volatile("" ::"r"(password), "x"(copy) : "memory");
	seen += password != NULL;
}

F void leave(double copy)
{
	__asm__ volatile("" ::"x"(copy) : "memory");
	seen += 2;
}

static char secret[8];

static void enter_and_leave(void)
{
	for (volatile unsigned i = 0; i < sizeof secret; i++)
		secret[i] = "wfdupsfe"[i] - 1;
	enter(secret, *(volatile double *)secret);
	leave(*(volatile double *)secret);
}

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
	enter_and_leave();
	return length != 7;
}
