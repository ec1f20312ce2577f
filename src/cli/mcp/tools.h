/* The tools of ada mcp: each is a command of ada with some of its options. */
#ifndef ADA_CLI_MCP_TOOLS_H
#define ADA_CLI_MCP_TOOLS_H
#include "base/array.h"
#include "base/error.h"
#include "cli/mcp/message.h"
#include "cli/mcp/sessions.h"

enum ada_mcp_type {
	ADA_MCP_TEXT,
	ADA_MCP_WORD,	/* text, or a whole number that stands for its text */
	ADA_MCP_NUMBER, /* whole */
	ADA_MCP_SWITCH,
	ADA_MCP_WORDS,	 /* an array of texts: the command gets each */
	ADA_MCP_SESSION, /* a session of the served directory: the command gets its path */
};

struct ada_mcp_parameter {
	const char *name, *description;
	const char *option;	    /* the command's option; "": an argument, behind SESSION; NULL: the tool's `arrange` places the value */
	const char *fallback;	    /* value where the client gives none; NULL: the command gets nothing */
	const char *const *choices; /* the texts that it may be, NULL behind the last; NULL: any */
	uint64_t max;		    /* of a number; 0: UINT64_MAX */
	enum ada_mcp_type type;
	bool required;
};

typedef ADA_ARRAY(char *) ada_mcp_words;

struct ada_mcp_tool {
	const char *name, *title, *description;
	const char *command;			    /* NULL: list_sessions, which no command has */
	const char *narrow;			    /* advice for an answer that is too long */
	const struct ada_mcp_parameter *parameters; /* a nameless one behind the last; the first is SESSION where it takes one */
	bool lines;				    /* its JSON is an object a line */
	bool acts;				    /* on a recording under way, or makes one */
	bool records;				    /* runs a program (launch.h), where the server may */
	/* Adds words for the parameters without option. NULL: it has none. */
	int (*arrange)(const char *root, json_object *arguments, ada_mcp_words *words, struct ada_error *error);
};

json_object *ada_mcp_tools(enum ada_mcp_version version, bool may_record); /* as tools/list gives them */
const struct ada_mcp_tool *ada_mcp_tool_find(const char *name);
/* -EINVAL with the reason where the arguments are not of the tool's form. `arguments`: NULL: none. */
int ada_mcp_tool_check(const struct ada_mcp_tool *tool, const json_object *arguments, struct ada_error *error);
/* The command line, "ada" first and a NULL last; of arguments that fit. -errno, also where there is no such session. */
int ada_mcp_tool_words(const struct ada_mcp_tool *tool, const char *root, json_object *arguments, ada_mcp_words *words,
		       struct ada_error *error);
void ada_mcp_words_free(ada_mcp_words *words);
#endif
