/* stdin to stdout through two children and back: descriptors 0, 1 and 2 are the program's own.
 *
 * stdin: the quick brown fox
 * expect: THE QUICK BROWN FOX
 * expect: xof nworb kciuq eht
 */
#include <ctype.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

NOINLINE static char upper(char c)
{
	return toupper((unsigned char)c);
}
NOINLINE static void turn(char *a, char *b)
{
	char c = *a;

	*a = *b;
	*b = c;
}

NOINLINE static void filter(const char *line, int way)
{
	char text[64];
	int length = strlen(line);

	strcpy(text, line);
	for (int i = 0; !way && i < length; i++)
		text[i] = upper(text[i]);
	for (int i = 0; way && i < length / 2; i++)
		turn(&text[i], &text[length - 1 - i]);
	puts(text);
}

int main(void)
{
	char line[64];

	CHECK(fgets(line, sizeof line, stdin) && !fgets(line + 32, 32, stdin));
	line[strcspn(line, "\n")] = 0;
	for (int i = 0; i < 2; i++) {
		int ends[2], status;
		char back[64] = "";

		CHECK(!pipe(ends));
		if (!fork()) {
			dup2(ends[1], 1);
			close(ends[0]);
			filter(line, i);
			exit(0);
		}
		close(ends[1]);
		FILE *in = fdopen(ends[0], "r");
		CHECK(fgets(back, sizeof back, in));
		fclose(in);
		wait(&status);
		write(1, back, strlen(back));
	}
	return 0;
}
