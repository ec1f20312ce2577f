/* Narratives as text, Markdown and JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/tell/narrative.h"

#define CITED_MAX 12	 /* of a sentence in text and Markdown; JSON has all */
#define CITED_BRIEF 4	 /* where not all is asked for */
#define FULL_MAX 3	 /* so many windows have what bears the headline out; of more, the worst one alone */
#define PROCESSES_MAX 20 /* so many have a section; of more those with little to tell have a line each. JSON has all */

struct page {
	struct ada_output *output;
	enum ada_narrative_format format;
	bool several; /* the session holds several processes: citations say which */
	bool brief;   /* there are windows, and not all is asked for */
	unsigned int width;
};

/* --- text and Markdown ------------------------------------------------------------------------------------------------- */

/* Escapes what Markdown would take for its own; names may hold anything. */
static void put_markdown(struct ada_output *output, const char *text)
{
	char piece[512];
	size_t used = 0;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (used > sizeof piece - 8 && (byte & 0xc0) != 0x80) {
			piece[used] = 0;
			ada_output_text(output, piece);
			used = 0;
		}
		if (strchr("\\`*_{}[]<>#|&~", byte) && used < sizeof piece - 3)
			piece[used++] = '\\';
		if (used < sizeof piece - 1)
			piece[used++] = (char)byte;
	}
	piece[used] = 0;
	ada_output_text(output, piece);
}

static void put_words(const struct page *page, const char *text)
{
	if (page->format == ADA_NARRATIVE_MARKDOWN)
		put_markdown(page->output, text);
	else
		ada_output_text(page->output, text);
}

static void put_range(FILE *stream, const struct ada_evidence *evidence)
{
	fprintf(stream, "#%" PRIu64, evidence->first);
	if (evidence->last != evidence->first)
		fprintf(stream, "-%" PRIu64, evidence->last);
}

static void put_file(const struct page *page, FILE *stream, const struct ada_evidence *evidence)
{
	if (evidence->process && page->several)
		fprintf(stream, "%s ", evidence->process->directory);
	fprintf(stream, "%s%s%s", evidence->file, *evidence->field ? ": " : "", evidence->field);
}

/* "thread 3 #12, #20-31; thread 4 #1; manifest.json: crash" */
static void put_citations(const struct page *page, FILE *stream, const struct ada_sentence *sentence)
{
	const struct ada_thread *thread = NULL;
	size_t most = page->brief ? CITED_BRIEF : CITED_MAX;

	for (size_t i = 0; i < sentence->evidence.count && i < most; i++) {
		const struct ada_evidence *evidence = &sentence->evidence.items[i];

		if (i)
			fputs(evidence->thread && evidence->thread == thread ? ", " : "; ", stream);
		if (!evidence->thread) {
			put_file(page, stream, evidence);
		} else {
			if (evidence->thread != thread)
				fprintf(stream, "%s%sthread %u ", page->several ? evidence->process->directory : "",
					page->several ? " " : "", evidence->thread->number);
			put_range(stream, evidence);
		}
		thread = evidence->thread;
	}
	if (sentence->evidence.count > most)
		fprintf(stream, "; and %zu more", sentence->evidence.count - most);
}

static void put_sentence(const struct page *page, const struct ada_sentence *sentence)
{
	bool markdown = page->format == ADA_NARRATIVE_MARKDOWN;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return;
	if (!markdown)
		fprintf(stream, "%s [", sentence->text);
	put_citations(page, stream, sentence);
	fputs(markdown ? "" : "]", stream);
	fclose(stream);
	ada_output_string(page->output, markdown ? "- " : "  ");
	if (markdown) {
		put_words(page, sentence->text);
		ada_output_string(page->output, " `[");
		ada_output_text(page->output, text);
		ada_output_string(page->output, "]`");
	} else {
		ada_output_wrapped(page->output, text, page->width > 20 ? page->width : 0, 2, 4);
	}
	ada_output_string(page->output, "\n");
	free(text);
}

static void put_title(const struct page *page, const char *title, bool first)
{
	bool markdown = page->format == ADA_NARRATIVE_MARKDOWN;

	ada_output_string(page->output, first ? "" : "\n");
	if (markdown)
		ada_output_string(page->output, first ? "# " : "## ");
	put_words(page, title);
	ada_output_string(page->output, markdown ? "\n\n" : "\n");
}

static bool is_one_of(const char *kind, const char *const *kinds)
{
	while (*kinds && strcmp(kind, *kinds))
		kinds++;
	return *kinds;
}

/* Whether the sentence is told where not all is asked for. */
static bool is_told(const struct page *page, const struct ada_section *section, const struct ada_sentence *sentence)
{
	static const char *const of_all[] = { "session",      "selected",      "not-recorded", "unreadable", "process",
					      "unfinished",   "lost",	       "waited",       "windows",    "headline",
					      "crash",	      "crash-address", "open-frames",  "last-calls", "crash-cause",
					      "crash-frames", "crash-muted",   "library",      "excluded",   NULL };

	return !page->brief || is_one_of(sentence->kind, of_all) || (!strcmp(sentence->kind, "cause") && !section->brief);
}

static void put_section(const struct page *page, const struct ada_section *section, bool first)
{
	if (page->brief && section->alike)
		return;
	put_title(page, section->title, first);
	for (size_t i = 0; i < section->sentences.count; i++)
		if (is_told(page, section, &section->sentences.items[i]))
			put_sentence(page, &section->sentences.items[i]);
}

/* Whether the section only tells how a process ran: one that lost nothing, ended well, and so on. */
static bool is_brief(const struct ada_section *section)
{
	if (!section->process || section->window != ADA_NO_WINDOW || !section->sentences.count ||
	    strcmp(section->sentences.items[0].kind, "process"))
		return false;
	for (size_t i = 1; i < section->sentences.count; i++) {
		const char *kind = section->sentences.items[i].kind;

		if (strcmp(kind, "hooked") && strcmp(kind, "thread") && strcmp(kind, "still-open"))
			return false;
	}
	return true;
}

/* Puts the brief sections among the processes' sections from `at` on, a line each. */
static void put_brief(const struct page *page, const struct ada_narrative *narrative, size_t at)
{
	size_t count = 0, end = at;
	char title[100];

	for (; end < narrative->sections.count && narrative->sections.items[end].process &&
	       narrative->sections.items[end].window == ADA_NO_WINDOW;
	     end++)
		count += is_brief(&narrative->sections.items[end]);
	snprintf(title, sizeof title, "%zu more process%s (more of each: ada narrate SESSION/pid_N)", count, count == 1 ? "" : "es");
	put_title(page, title, false);
	for (size_t i = at; i < end; i++)
		if (is_brief(&narrative->sections.items[i]))
			put_sentence(page, &narrative->sections.items[i].sentences.items[0]);
}

static void put_sections(const struct page *page, const struct ada_narrative *narrative)
{
	size_t processes = 0;
	bool brief = false;

	for (size_t i = 0; i < narrative->sections.count; i++) {
		const struct ada_section *section = &narrative->sections.items[i];

		processes += section->process && section->window == ADA_NO_WINDOW;
		if (processes <= PROCESSES_MAX || !is_brief(section)) {
			put_section(page, section, !i);
		} else if (!brief) {
			put_brief(page, narrative, i);
			brief = true;
		}
	}
}

/* --- JSON -------------------------------------------------------------------------------------------------------------- */

static void put_json_evidence(struct ada_output *output, const struct ada_evidence *evidence)
{
	ada_output_string(output, "{\"process\": ");
	if (evidence->process)
		ada_output_json(output, evidence->process->directory);
	else
		ada_output_string(output, "null");
	if (evidence->thread) {
		ada_output_string(output, ", \"thread\": ");
		ada_output_u64(output, evidence->thread->number);
		ada_output_string(output, ", \"first\": ");
		ada_output_u64(output, evidence->first);
		ada_output_string(output, ", \"last\": ");
		ada_output_u64(output, evidence->last);
	} else {
		ada_output_string(output, ", \"file\": ");
		ada_output_json(output, evidence->file);
		ada_output_string(output, ", \"field\": ");
		ada_output_json(output, evidence->field);
	}
	ada_output_string(output, "}");
}

static void put_json_fields(struct ada_output *output, const struct ada_section *section, const struct ada_sentence *sentence)
{
	ada_output_string(output, "\"section\": ");
	ada_output_json(output, section->title);
	ada_output_string(output, ", \"process\": ");
	if (section->process)
		ada_output_json(output, section->process->directory);
	else
		ada_output_string(output, "null");
	ada_output_string(output, ", \"window\": ");
	if (section->window == ADA_NO_WINDOW)
		ada_output_string(output, "null");
	else
		ada_output_u64(output, section->window);
	ada_output_string(output, ", \"kind\": ");
	ada_output_json(output, sentence->kind);
	ada_output_string(output, ", \"text\": ");
	ada_output_json(output, sentence->text);
	ada_output_string(output, ", \"evidence\": [");
	for (size_t i = 0; i < sentence->evidence.count; i++) {
		ada_output_string(output, i ? ", " : "");
		put_json_evidence(output, &sentence->evidence.items[i]);
	}
	ada_output_string(output, "]");
	if (sentence->cause) {
		ada_output_string(output, ", \"cause\": ");
		ada_output_string(output, sentence->cause);
	}
	if (sentence->crash) {
		ada_output_string(output, ", \"crash\": ");
		ada_output_string(output, sentence->crash);
	}
	ada_output_string(output, "}");
}

static void put_json_sentence(struct ada_output *output, const struct ada_section *section, const struct ada_sentence *sentence)
{
	ada_output_string(output, "{");
	put_json_fields(output, section, sentence);
}

static void put_json(struct ada_output *output, const struct ada_narrative *narrative)
{
	bool first = true;

	ada_output_string(output, "\"rows\": [");
	for (size_t i = 0; i < narrative->sections.count; i++)
		for (size_t j = 0; j < narrative->sections.items[i].sentences.count; j++) {
			ada_output_string(output, first ? "\n  " : ",\n  ");
			put_json_sentence(output, &narrative->sections.items[i], &narrative->sections.items[i].sentences.items[j]);
			first = false;
		}
	ada_output_string(output, first ? "],\n" : "\n],\n");
}

/* Of more windows than a page holds only the worst one is borne out. */
static bool mark_brief(const struct ada_narrative *narrative)
{
	size_t windows = 0, told = 0;

	for (size_t i = 0; i < narrative->sections.count; i++)
		windows += narrative->sections.items[i].window != ADA_NO_WINDOW && !narrative->sections.items[i].alike;
	for (size_t i = 0; i < narrative->sections.count; i++) {
		struct ada_section *section = &narrative->sections.items[i];

		if (section->window != ADA_NO_WINDOW && !section->alike)
			section->brief = windows > FULL_MAX && told++;
	}
	return windows;
}

void ada_narrative_print(struct ada_output *output, const struct ada_narrative *narrative, const struct ada_narrative_style *style)
{
	struct page page = {
		.output = output, .format = style->format, .several = narrative->session->processes.count > 1, .width = style->width
	};

	if (style->format == ADA_NARRATIVE_JSON) {
		put_json(output, narrative);
		return;
	}
	page.brief = mark_brief(narrative) && !style->all;
	put_sections(&page, narrative);
	if (page.brief)
		ada_output_string(output, style->format == ADA_NARRATIVE_MARKDOWN ? "\n`--all` tells more of each window.\n" :
										    "\n--all tells more of each window.\n");
}

void ada_narrative_print_headline(struct ada_output *output, const struct ada_narrative *narrative, const char *session)
{
	const struct ada_section *section = narrative->sections.items;
	const struct ada_sentence *headline;

	if (!narrative->sections.count || !section->sentences.count)
		return;
	headline = section->sentences.items;
	for (size_t i = section->sentences.count; i--;)
		if (section->sentences.items[i].cause)
			headline = &section->sentences.items[i];
	ada_output_string(output, "{\"session\": ");
	ada_output_json(output, session);
	ada_output_string(output, ", ");
	put_json_fields(output, section, headline);
	ada_output_string(output, "\n");
}
