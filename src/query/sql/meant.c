/* Functions that a statement names: where a column of functions' names is compared with a text, by = == <> != IS or IN, the text may be all
 * that options take for a function, a short form, a pattern or a list of them, unless a function has exactly that name.
 *
 * The statement is written anew: function = 'f' becomes function IN ('f', 'f(int)', 'f(int) [clone .isra.0]'). A table that let these rows
 * pass for equal to 'f' would not do: what a statement says is equal to one text SQLite takes for the same in all rows, where it groups,
 * sorts and joins. */
#include <stdlib.h>
#include <string.h>
#include "query/sql/parts.h"

#define MEANT_MAX 4096 /* names that one text may mean */
#define UNMET_MAX 16   /* what a join asks for may be many */

void ada_sql_note_unmet(struct ada_sql *sql, const char *function)
{
	char *copy;

	for (size_t i = 0; i < sql->unmet.count; i++)
		if (!strcmp(sql->unmet.items[i], function))
			return;
	copy = sql->unmet.count < UNMET_MAX && !strchr(function, '\n') ? strdup(function) : NULL;
	if (copy && ada_array_push(&sql->unmet, copy))
		free(copy);
}

/* --- which functions a text means --------------------------------------------------------------------------------------- */

struct meant {
	ADA_ARRAY(const char *) names; /* as they are shown; ada_sql has them */
	bool exact;		       /* the text is one of them */
	int result;		       /* SQLite's */
};

static void take_symbol(struct ada_sql *sql, struct ada_module *module, uint32_t symbol, const char *text, struct meant *meant)
{
	const struct ada_sql_function *function = ada_sql_function_by_key(sql, (uint64_t)module->number << 32 | symbol);

	if (!function || ada_array_push(&meant->names, function->name))
		meant->result = SQLITE_NOMEM;
	else if (meant->names.count > MEANT_MAX)
		meant->result = SQLITE_TOOBIG;
	meant->exact |= function && !strcmp(function->name, text);
}

/* Adds what the patterns mean, until a function has the very name. */
static void find_meant(struct ada_sql *sql, const struct ada_pattern_list *patterns, const char *text, struct meant *meant)
{
	for (size_t i = 0; i < sql->session->modules.count; i++) {
		struct ada_module *module = sql->session->modules.items[i];

		ada_module_load(module);
		for (uint32_t j = 0; j < module->symbol_count && meant->result == SQLITE_OK && !meant->exact; j++) {
			bool may = false;

			for (size_t k = 0; k < patterns->items.count && !may; k++)
				may = ada_pattern_may_match(&patterns->items.items[k], module->symbols[j].mangled);
			if (may && ada_module_is_meant(module, j, patterns))
				take_symbol(sql, module, j, text, meant);
		}
	}
}

/* The text as it stands comes first: a name may look like a pattern. What is no pattern at all means nothing. */
static void find_names(struct ada_sql *sql, const char *text, struct meant *meant)
{
	struct ada_pattern_list as_it_is = {}, patterns = {};
	struct ada_error ignored = { "" };
	struct ada_pattern literal;

	if (ada_pattern_literal(&literal, text, false, &ignored) || ada_array_push(&as_it_is.items, literal)) {
		meant->result = SQLITE_NOMEM;
		return;
	}
	find_meant(sql, &as_it_is, text, meant);
	ada_pattern_list_free(&as_it_is);
	if (meant->names.count || meant->result != SQLITE_OK || ada_pattern_list_add(&patterns, text, &ignored))
		return;
	find_meant(sql, &patterns, text, meant);
	if (!meant->names.count && meant->result == SQLITE_OK)
		ada_sql_note_unmet(sql, text);
	ada_pattern_list_free(&patterns);
}

/* --- the statement, word by word ---------------------------------------------------------------------------------------- */

struct token {
	const char *at;
	size_t length;
	enum { END, NAME, TEXT, OTHER } kind;
};

static const char *skip_blanks(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n\f");
		if (!strncmp(at, "--", 2)) {
			at += strcspn(at, "\n");
		} else if (!strncmp(at, "/*", 2)) {
			const char *end = strstr(at + 2, "*/");

			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

static bool is_of_name(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' ||
	       (unsigned char)byte >= 0x80;
}

/* The length of what is quoted; the quote itself stands for itself where it stands twice. */
static size_t quoted_length(const char *at)
{
	char close = *at == '[' ? ']' : *at;
	const char *end = at + 1;

	while (*end && (*end != close || (close != ']' && end[1] == close)))
		end += *end == close ? 2 : 1;
	return (size_t)(end - at) + (*end != 0);
}

static struct token next_token(const char *at)
{
	struct token token = { .at = skip_blanks(at), .length = 1, .kind = OTHER };

	at = token.at;
	if (!*at) {
		token.length = 0;
		token.kind = END;
	} else if (strchr("'\"`[", *at)) {
		token.length = quoted_length(at);
		token.kind = *at == '\'' ? TEXT : NAME;
	} else if (is_of_name(*at)) {
		while (is_of_name(at[token.length]))
			token.length++;
		token.kind = NAME;
	} else if (strchr("=<>!|", *at) && at[1] && strchr("=<>|", at[1])) {
		token.length = 2;
	}
	return token;
}

static struct token after(struct token token)
{
	return next_token(token.at + token.length);
}

static bool is_word(struct token token, const char *word)
{
	size_t quotes = token.kind == NAME && strchr("\"`[", *token.at) && token.length > 1;

	return token.kind != TEXT && token.length - 2 * quotes == strlen(word) && !strncasecmp(token.at + quotes, word, strlen(word));
}

static bool has_word(const char *text, const char *word)
{
	for (struct token token = next_token(text); token.kind != END; token = after(token))
		if (is_word(token, word))
			return true;
	return false;
}

/* Whether the column has functions' names. */
static bool is_of_functions(struct token token, bool with_name)
{
	static const char *const columns[] = { "function", "caller", "of", "function_waited", "culprit_function" };

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (is_word(token, columns[i]))
			return true;
	return with_name && is_word(token, "name");
}

/* What may follow a text that is compared: else the text is part of an expression. */
static bool ends_comparison(struct token token)
{
	return token.kind == END || (token.kind == NAME && !is_word(token, "COLLATE")) || is_word(token, ")") || is_word(token, ",") ||
	       is_word(token, ";");
}

struct rewrite {
	struct ada_sql *sql;
	const char *copied; /* the statement up to here is in `out` */
	sqlite3_str *out;
	int result; /* SQLite's */
};

/* Puts "BEFORE'text', 'name', ...BEHIND" for what stands from `from` to the end of the text; leaves all as it is where the text means no
 * other names. */
static void put_names(struct rewrite *rewrite, struct token token, const char *from, const char *before, const char *behind)
{
	char *text = malloc(token.length);
	struct meant meant = {};
	size_t length = 0;

	if (!text) {
		rewrite->result = SQLITE_NOMEM;
		return;
	}
	for (size_t i = 1; i + 1 < token.length; i += token.at[i] == '\'' ? 2 : 1)
		text[length++] = token.at[i];
	text[length] = 0;
	find_names(rewrite->sql, text, &meant);
	if (meant.result == SQLITE_OK && !meant.exact && meant.names.count) {
		sqlite3_str_append(rewrite->out, rewrite->copied, (int)(from - rewrite->copied));
		sqlite3_str_appendall(rewrite->out, before);
		sqlite3_str_append(rewrite->out, token.at, (int)token.length);
		for (size_t i = 0; i < meant.names.count; i++)
			sqlite3_str_appendf(rewrite->out, ", %Q", meant.names.items[i]);
		sqlite3_str_appendall(rewrite->out, behind);
		rewrite->copied = token.at + token.length;
	}
	rewrite->result = meant.result;
	ada_array_free(&meant.names);
	free(text);
}

/* At what follows such a column. */
static void take_comparison(struct rewrite *rewrite, struct token op)
{
	bool not = is_word(op, "<>") || is_word(op, "!="), is = is_word(op, "IS");
	struct token token = after(op);
	const char *from = op.at;

	if (is && is_word(token, "NOT")) {
		not = true;
		token = after(token);
	} else if (is_word(op, "NOT") && is_word(token, "IN")) {
		op = token;
		token = after(token);
	}
	if ((is || not || is_word(op, "=") || is_word(op, "==")) && token.kind == TEXT && ends_comparison(after(token)))
		put_names(rewrite, token, from, not ? " NOT IN (" : " IN (", ")");
	if (!is_word(op, "IN") || !is_word(token, "("))
		return;
	for (token = after(token); token.kind == TEXT && rewrite->result == SQLITE_OK; token = after(after(token))) {
		if (!is_word(after(token), ",") && !is_word(after(token), ")"))
			return;
		put_names(rewrite, token, token.at, "", "");
	}
}

int ada_sql_meant(struct ada_sql *sql, const char *statement, char **anew)
{
	struct rewrite rewrite = { .sql = sql, .copied = statement, .out = sqlite3_str_new(NULL) };
	bool with_name = has_word(statement, "functions") && !has_word(statement, "threads");

	for (struct token token = next_token(statement); token.kind != END && rewrite.result == SQLITE_OK; token = after(token))
		if (token.kind == NAME && is_of_functions(token, with_name))
			take_comparison(&rewrite, after(token));
	sqlite3_str_appendall(rewrite.out, rewrite.copied);
	*anew = sqlite3_str_finish(rewrite.out);
	if (!*anew && rewrite.result == SQLITE_OK)
		rewrite.result = SQLITE_NOMEM;
	return rewrite.result;
}
