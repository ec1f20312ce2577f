/* Texts of libatf's errors. */
#include "atf/ground/ground.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *atf_error_text(int error)
{
	switch (error < 0 ? -error : error) {
	case ATF_OK: return "no error";
	case ATF_ERROR_SYSTEM: return strerror(errno);
	case ATF_ERROR_NOT_ATF: return "not an ATF file";
	case ATF_ERROR_VERSION: return "a version of the format that this program doesn't read";
	case ATF_ERROR_CORRUPT: return "damaged file";
	case ATF_ERROR_RANGE: return "out of range";
	case ATF_ERROR_FULL: return "segment is full";
	case ATF_ERROR_MEMORY: return "out of memory";
	case ATF_ERROR_INVALID: return "makes no sense";
	default: return "unknown error";
	}
}

int atf_system(int error)
{
	if (!error)
		return 0;
	errno = -error;
	return -ATF_ERROR_SYSTEM;
}

static void message_format(struct atf_message *message, const char *format, va_list arguments)
{
	if (message)
		vsnprintf(message->text, sizeof message->text, format, arguments);
}

void atf_say(struct atf_message *message, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_format(message, format, arguments);
	va_end(arguments);
}

int atf_fail(struct atf_message *message, enum atf_error error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_format(message, format, arguments);
	va_end(arguments);
	return -(int)error;
}

void atf_say_of(struct atf_message *message, const char *path, const char *reason)
{
	size_t taken = strlen(reason) + sizeof ": ", length = strlen(path);
	size_t room = taken < sizeof message->text ? sizeof message->text - taken : 0;

	atf_say(message, "%s: %s", length > room ? path + (length - room) : path, reason);
}

int atf_fail_of(struct atf_message *message, const char *path, enum atf_error error, const char *reason)
{
	atf_say_of(message, path, reason);
	return -(int)error;
}
