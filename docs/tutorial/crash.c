/* A configuration with a default for most of its keys. */
#include <stdio.h>
#include <string.h>

struct setting {
	const char *key, *value;
};
static const struct setting settings[] = { { "port", "8080" }, { "host", "localhost" } };

__attribute__((noinline)) static const struct setting *find_setting(const char *key)
{
	for (unsigned int i = 0; i < sizeof settings / sizeof *settings; i++)
		if (!strcmp(settings[i].key, key))
			return &settings[i];
	return NULL;
}

__attribute__((noinline)) static unsigned long length_of(const struct setting *setting)
{
	return strlen(setting->value);
}

__attribute__((noinline)) static unsigned long configure(const char *key)
{
	return length_of(find_setting(key));
}

int main(void)
{
	printf("%lu\n", configure("port") + configure("timeout"));
	return 0;
}
