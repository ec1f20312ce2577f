#include "cli/help/complete.h"
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/ground/options.h"
#include "trigger/trigger.h"

#define FUNCTIONS_MOST "200"

struct line {
	char **words;
	size_t count;
	const char *current; /* the last word */
	char *help;	     /* of the command */
};

/* An option as a line of the help has it: "  -f, --format=FORMAT        text (default), json or csv". */
struct help_option {
	char letter; /* 0: none */
	char name[48], argument[48];
	bool may_lack; /* its argument */
	const char *text;
	size_t text_length;
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What ada itself answers to these arguments; NULL: nothing. */
static char *answer_of(const char *const *arguments)
{
	char *text = NULL;
	size_t length = 0, room = 0;
	FILE *stream;
	int pipes[2];
	pid_t child;

	if (pipe(pipes))
		return NULL;
	child = fork();
	if (!child) {
		dup2(pipes[1], STDOUT_FILENO);
		close(STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		setenv("ARGP_HELP_FMT", "rmargin=1000", 1); /* a line an option */
		execv("/proc/self/exe", (char *const *)arguments);
		_exit(1);
	}
	close(pipes[1]);
	stream = child > 0 ? fdopen(pipes[0], "r") : NULL;
	if (!stream) {
		close(pipes[0]);
		return NULL;
	}
	if (getdelim(&text, &room, '\0', stream) < 0)
		length = 0;
	else
		length = strlen(text);
	fclose(stream);
	waitpid(child, NULL, 0);
	if (!length) {
		free(text);
		text = NULL;
	}
	return text;
}

/* --- the options of a command ------------------------------------------------------------------------------------------- */

/* Copies what stands before one of `ends`. Returns what is behind it. */
static const char *copy_until(char *to, size_t room, const char *from, const char *ends)
{
	size_t length = strcspn(from, ends);

	snprintf(to, room, "%.*s", (int)(length < room ? length : room - 1), from);
	return from + length;
}

/* The next option of the help at `*at`, which moves on. */
static bool next_option(const char **at, struct help_option *option)
{
	while (**at) {
		const char *line = *at, *end = line + strcspn(line, "\n"), *name = line + strspn(line, " ");

		*at = *end ? end + 1 : end;
		*option = (struct help_option){ 0 };
		if (name == line || *name != '-')
			continue;
		if (name[1] != '-') {
			option->letter = name[1];
			name += begins(name + 2, ", ") ? 4 : 2;
		}
		if (!begins(name, "--"))
			continue;
		name = copy_until(option->name, sizeof option->name, name, "=[ \n");
		option->may_lack = *name == '[';
		name += option->may_lack;
		if (*name == '=')
			name = copy_until(option->argument, sizeof option->argument, name + 1, "] \n");
		name += strspn(name, "] ");
		option->text = name;
		option->text_length = (size_t)(end - name);
		return true;
	}
	return false;
}

/* The option that `word` names, "--NAME" or "-N", of which `length` bytes count. */
static bool find_option(const struct line *line, const char *word, size_t length, struct help_option *option)
{
	const char *at = line->help;

	while (at && next_option(&at, option))
		if ((strlen(option->name) == length && !memcmp(option->name, word, length)) ||
		    (length == 2 && *word == '-' && option->letter && option->letter == word[1]))
			return true;
	return false;
}

static void print_options(const struct line *line)
{
	const char *at = line->help;
	struct help_option option;

	while (at && next_option(&at, &option))
		if (begins(option.name, line->current))
			printf("%s%s\n", option.name, option.argument[0] && !option.may_lack ? "=" : "");
}

/* --- values -------------------------------------------------------------------------------------------------------------- */

static void print_value(const char *before, const char *value, size_t length, const char *current)
{
	if (length && length >= strlen(current) && !memcmp(value, current, strlen(current)))
		printf("%s%.*s\n", before, (int)length, value);
}

/* "text (default), json or csv; what follows is no choice" */
static void print_choices(const struct help_option *option, const char *before, const char *current)
{
	const char *at = option->text, *end = at + option->text_length, *stop = memchr(at, ';', option->text_length);

	end = stop ? stop : end;
	while (at < end) {
		size_t length = 0;

		while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '-'))
			length++;
		if (*at == '(')
			while (at < end && *at != ')')
				at++;
		else if (length && !(length == 2 && !memcmp(at, "or", 2)))
			print_value(before, at, length, current);
		at += length ? length : 1;
	}
}

static void print_alternatives(const struct help_option *option, const char *before, const char *current)
{
	for (const char *at = option->argument; *at; at += at[strcspn(at, "|")] ? strcspn(at, "|") + 1 : strcspn(at, "|"))
		print_value(before, at, strcspn(at, "|"), current);
}

/* A session's directory among the words, or the last session. */
static const char *session_of(const struct line *line)
{
	struct stat status;

	for (size_t i = 1; i + 1 < line->count; i++)
		if (line->words[i][0] != '-' && strchr(line->words[i], '/') && !stat(line->words[i], &status) && S_ISDIR(status.st_mode))
			return line->words[i];
	return ADA_LATEST;
}

/* What the session answers, row by row, where it begins so. */
static void print_answers(const struct line *line, const char *statement, const char *before, const char *current)
{
	char *answer = answer_of((const char *[]){ "ada", "query", "--format=csv", session_of(line), statement, NULL }), *rest = answer;

	for (char *row = strsep(&rest, "\n"), *first = row; row; row = strsep(&rest, "\n")) {
		row[strcspn(row, "\r")] = '\0';
		if (row != first) /* the first names the column */
			print_value(before, row, strlen(row), current);
	}
	free(answer);
}

/* Names that begin so. Names with a comma or a quotation mark aren't offered: a list of names takes them only as a pattern. */
static void print_functions(const struct line *line, const char *before, const char *current)
{
	const char *comma = strrchr(current, ','), *name = comma ? comma + 1 : current;
	char *sql = NULL, *kept = NULL;

	for (const char *at = name; *at; at++)
		if (strchr("'\"%_*?[\\", *at) && *at != '_')
			return;
	if (asprintf(
		    &sql,
		    "SELECT DISTINCT name FROM functions WHERE substr(name, 1, %zu) = '%s' AND name NOT GLOB '*[,\" ]*' ORDER BY name LIMIT " FUNCTIONS_MOST,
		    strlen(name), name) < 0)
		return;
	if (asprintf(&kept, "%s%.*s", before, (int)(name - current), current) >= 0)
		print_answers(line, sql, kept, "");
	free(kept);
	free(sql);
}

static void print_sessions(const char *before, const char *current)
{
	DIR *directory = opendir(ADA_TRACES);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char path[sizeof ADA_TRACES + sizeof entry->d_name];

		snprintf(path, sizeof path, ADA_TRACES "/%s", entry->d_name);
		if (begins(entry->d_name, "session_") || !strcmp(path, ADA_LATEST))
			print_value(before, path, strlen(path), current);
		if (*current && begins(entry->d_name, "session_")) /* a name alone will do, too */
			print_value(before, entry->d_name, strlen(entry->d_name), current);
	}
	if (directory)
		closedir(directory);
}

/* Of PATH, for shells that don't complete commands behind a command. */
static void print_programs(const char *current)
{
	char *path = strdup(getenv("PATH") ?: ""), *rest = path, *place;

	while (*current && !strchr(current, '/') && rest && (place = strsep(&rest, ":"))) {
		DIR *directory = opendir(place);
		struct dirent *entry;

		while (directory && (entry = readdir(directory)))
			if (begins(entry->d_name, current) && !faccessat(dirfd(directory), entry->d_name, X_OK, 0))
				puts(entry->d_name);
		if (directory)
			closedir(directory);
	}
	free(path);
}

/* What a rule begins with. */
static void print_kinds(const char *before, const char *current)
{
	const char *name;

	for (size_t i = 0; (name = ada_trigger_kind(i)); i++)
		print_value(before, name, strlen(name), current);
}

static void print_values(const struct line *line, const struct help_option *option, const char *before, const char *current)
{
	static const char *const chosen[] = { "FORMAT", "MODE", "FIELD" };

	if (strchr(option->argument, '|'))
		print_alternatives(option, before, current);
	for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
		if (!strcmp(option->argument, chosen[i]))
			print_choices(option, before, current);
	if (!strcmp(option->argument, "SESSION"))
		print_sessions(before, current);
	if (!strcmp(option->argument, "RULE"))
		print_kinds(before, current);
	if (!strcmp(option->argument, "NAMES"))
		print_functions(line, before, current);
	if (!strcmp(option->argument, "THREAD"))
		print_answers(line, "SELECT DISTINCT thread FROM threads ORDER BY thread LIMIT 200", before, current);
	if (!strcmp(option->name, "--window"))
		print_answers(line, "SELECT window FROM windows ORDER BY window LIMIT 200", before, current);
}

/* What stands behind the command in its usage: "add", "remove" of ada trigger. */
static void print_verbs(const struct line *line)
{
	static const char before[] = " [OPTION...] ";
	const char *end;

	for (const char *at = line->help; at && *at && (begins(at, "Usage:") || begins(at, "  or:")); at = *end ? end + 1 : end) {
		const char *verb = strstr(at, before);

		end = at + strcspn(at, "\n");
		if (verb && verb < end)
			print_value("", verb + strlen(before), strspn(verb + strlen(before), "abcdefghijklmnopqrstuvwxyz"), line->current);
	}
}

/* --- a line --------------------------------------------------------------------------------------------------------------- */

/* Whether the program that ada is to run is there already: what follows is its own. */
static bool has_program(const struct line *line)
{
	struct help_option option;

	for (size_t i = 1; i + 1 < line->count; i++) {
		const char *word = line->words[i];

		if (!strcmp(word, "--"))
			return i + 2 < line->count;
		if (*word != '-')
			return true;
		if (!strchr(word, '=') && find_option(line, word, strlen(word), &option) && option.argument[0] && !option.may_lack)
			i++;
	}
	return false;
}

static void complete_word(const struct line *line)
{
	const char *equals = strchr(line->current, '='), *last = line->words[line->count - 2];
	struct help_option option;

	if (!strcmp(line->words[0], "trace") && has_program(line))
		return;
	if (begins(line->current, "--") && equals) {
		char before[64];

		copy_until(before, sizeof before, line->current, "=");
		if (find_option(line, before, strlen(before), &option)) {
			strcat(before, "=");
			print_values(line, &option, before, equals + 1);
		}
	} else if (*last == '-' && find_option(line, last, strlen(last), &option) && option.argument[0] && !option.may_lack) {
		print_values(line, &option, "", line->current);
	} else if (*line->current == '-') {
		print_options(line);
	} else {
		const char *usage = strstr(line->help ? line->help : "", "SESSION");

		if (line->count == 2)
			print_verbs(line);
		if (!strcmp(line->words[0], "trace"))
			print_programs(line->current);
		if (!strcmp(line->words[0], "trigger") && (!strcmp(last, "add") || !strcmp(last, "test")))
			print_kinds("", line->current);
		if (usage && usage < line->help + strcspn(line->help, "\n"))
			print_sessions("", line->current);
	}
}

int ada_complete(const char *const *commands, size_t count, char **words)
{
	struct line line = { .words = words };

	while (words[line.count])
		line.count++;
	if (!line.count)
		return 0;
	line.current = words[line.count - 1];
	if (line.count == 1 || (line.count == 2 && !strcmp(words[0], "help"))) {
		for (size_t i = 0; i < count; i++)
			print_value("", commands[i], strlen(commands[i]), line.current);
		if (line.count == 1)
			print_value("", "help", 4, line.current);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (!strcmp(commands[i], words[0]))
			line.help = answer_of((const char *[]){ "ada", "help", words[0], NULL });
	complete_word(&line);
	free(line.help);
	return 0;
}
