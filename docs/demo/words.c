/* The demo's sample: counts the words on stdin in two threads, one half of the text each, and prints the most frequent. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	char text[32];
	int count;
	struct word *left, *right;
};

struct half {
	const char *begin, *end;
	struct word *words;
	int distinct;
};

static char text[1 << 16];

__attribute__((noinline)) static const char *next_word(const char *at, const char *end, char *word, size_t room)
{
	size_t length = 0;

	while (at < end && !isalpha((unsigned char)*at))
		at++;
	while (at < end && isalpha((unsigned char)*at) && length + 1 < room)
		word[length++] = (char)tolower((unsigned char)*at++);
	word[length] = '\0';
	return length ? at : NULL;
}

__attribute__((noinline)) static struct word *insert(struct word *node, const char *text, int count, int *distinct)
{
	int order;

	if (!node) {
		node = calloc(1, sizeof *node);
		snprintf(node->text, sizeof node->text, "%s", text);
		node->count = count;
		++*distinct;
		return node;
	}
	order = strcmp(text, node->text);
	if (order < 0)
		node->left = insert(node->left, text, count, distinct);
	else if (order > 0)
		node->right = insert(node->right, text, count, distinct);
	else
		node->count += count;
	return node;
}

__attribute__((noinline)) static void *count_half(void *argument)
{
	struct half *half = argument;
	const char *at = half->begin;
	char word[32];

	while ((at = next_word(at, half->end, word, sizeof word)))
		half->words = insert(half->words, word, 1, &half->distinct);
	return NULL;
}

__attribute__((noinline)) static void merge(struct half *into, const struct word *node)
{
	if (!node)
		return;
	merge(into, node->left);
	into->words = insert(into->words, node->text, node->count, &into->distinct);
	merge(into, node->right);
}

__attribute__((noinline)) static const struct word *most_frequent(const struct word *node, const struct word *best)
{
	if (!node)
		return best;
	best = most_frequent(node->left, best);
	if (!best || node->count > best->count)
		best = node;
	return most_frequent(node->right, best);
}

int main(void)
{
	size_t length = fread(text, 1, sizeof text - 1, stdin), middle = length / 2;
	struct half halves[2];
	pthread_t threads[2];
	const struct word *best;

	while (isalpha((unsigned char)text[middle]))
		middle++;
	halves[0] = (struct half){ text, text + middle, NULL, 0 };
	halves[1] = (struct half){ text + middle, text + length, NULL, 0 };
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count_half, &halves[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	merge(&halves[0], halves[1].words);
	best = most_frequent(halves[0].words, NULL);
	printf("%d distinct words; most frequent: %s, %d times\n", halves[0].distinct, best ? best->text : "none", best ? best->count : 0);
	return 0;
}
