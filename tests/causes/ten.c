/* Ten slow calls, of ten functions, that have ten windows: ten [FIFO]. It lasts until somebody opens the FIFO to write. */
#include <fcntl.h>
#include <unistd.h>

#define SERVE(number)                                                                                                                      \
	__attribute__((noinline, noclone)) void serve_##number(void)                                                                       \
	{                                                                                                                                  \
		usleep(60000 + number * 1000);                                                                                             \
	}

SERVE(0)
SERVE(1)
SERVE(2)
SERVE(3)
SERVE(4)
SERVE(5)
SERVE(6)
SERVE(7)
SERVE(8)
SERVE(9)

static void (*const all[])(void) = { serve_0, serve_1, serve_2, serve_3, serve_4, serve_5, serve_6, serve_7, serve_8, serve_9 };

int main(int count, char **words)
{
	for (int i = 0; i < 10; i++) {
		all[i]();
		for (int j = 0; j < 100; j++)
			usleep(1);
	}
	if (count > 1)
		open(words[1], O_RDONLY);
}
