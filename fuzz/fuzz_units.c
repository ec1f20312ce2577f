/* Durations, sizes, counts and times: any text is a value or an error with a message, and the other way round never. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(int status, const struct ada_error *error)
{
	assert(status == 0 || status == -EINVAL || status == -ERANGE);
	assert((status != 0) == (error->text[0] != '\0'));
	assert(!strchr(error->text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_error errors[4] = { { { 0 } } };
	char text[256], shown[ADA_UNITS_TEXT];
	uint64_t value = 0;

	if (length >= sizeof text)
		return 0;
	if (length)
		memcpy(text, bytes, length);
	text[length] = '\0';
	check(ada_parse_duration(text, &value, &errors[0]), &errors[0]);
	assert(strlen(ada_format_duration(value, shown)) >= 4);
	check(ada_parse_size(text, &value, &errors[1]), &errors[1]);
	assert(strlen(ada_format_size(value, shown)) >= 3);
	check(ada_parse_count(text, 10, 1000000, &value, &errors[2]), &errors[2]);
	assert(errors[2].text[0] || (value >= 10 && value <= 1000000));
	check(ada_parse_time(text, value, &value, &errors[3]), &errors[3]);
	assert(strlen(ada_format_count(value, shown)) >= 1);
	return 0;
}
