#include "trigger/trigger.h"

enum ada_value_type ada_value_type_of(const char *path, const char *mangled, int argument)
{
	return ADA_VALUE_I32;
}
