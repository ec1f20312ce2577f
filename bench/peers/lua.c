/* A lua of which the bench knows the symbols: `lua FILE AMOUNT`, with the library linked in. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
	lua_State *state = luaL_newstate();
	int status = 1;

	if (!state || count < 3)
		return 2;
	luaL_openlibs(state);
	lua_pushinteger(state, atol(arguments[2]));
	lua_setglobal(state, "amount");
	status = luaL_dofile(state, arguments[1]);
	if (status)
		fprintf(stderr, "%s\n", lua_tostring(state, -1));
	lua_close(state);
	return status;
}
