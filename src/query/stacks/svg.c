/* A flame graph as an SVG file: threads at the top, callees below their callers, widest first.
 *
 *   row 0   all threads, wide as the sum of what is below
 *   row 1   the threads by name (thread_groups.h)
 *   row n   calls, n - 1 deep; a frame is a node of the tree (tree.h), wide as its total_ns
 *
 * Where the calls below a node sum up to more than its own time (a call of another stack, or one that was open before the selection
 * began), the node is as wide as they are: no frame sticks out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/export/export.h"
#include "query/stacks/thread_groups.h"
#include "query/sums/tree.h"

#define WIDE 1200.0 /* of the picture, in pixels, with MARGIN at both sides */
#define MARGIN 10.0
#define TOP 44	  /* above the frames: the title */
#define BOTTOM 30 /* below them: what is left out */
#define ROW 17
#define LEAST 0.1      /* pixels: narrower frames are left out */
#define LETTER 7.0     /* pixels: of the names */
#define DEPTH_MAX 1001 /* a thread and 1,000 calls */

extern const char ada_svg_script[]; /* svg.js */

struct picture {
	struct ada_output *output;
	const struct ada_tree *tree;
	const struct ada_thread_groups *threads;
	uint64_t *ns, *start; /* by node: how wide it is, and where it begins, both in ns of the picture */
	uint32_t deepest;     /* row with a frame */
	uint64_t left_out;    /* frames that are too narrow or too deep, with those below them */
};

/* --- where the frames stand ---------------------------------------------------------------------------------------------- */

static double pixels(const struct picture *picture, uint64_t ns)
{
	return (double)ns * (WIDE - 2 * MARGIN) / (double)picture->ns[0];
}

static bool is_drawn(const struct picture *picture, uint32_t number)
{
	return pixels(picture, picture->ns[number]) >= LEAST && picture->tree->nodes.items[number].depth <= DEPTH_MAX;
}

/* The next frame, in the order of the tree. 0: that was the last. */
static uint32_t next_drawn(const struct picture *picture, uint32_t number)
{
	number = ada_tree_next(picture->tree, number);
	while (number && !is_drawn(picture, number))
		number = ada_tree_skip(picture->tree, number);
	return number;
}

static void lay_out(struct picture *picture)
{
	const struct ada_tree_node *nodes = picture->tree->nodes.items;
	uint64_t drawn = 1;

	for (size_t i = picture->tree->nodes.count; i-- > 0;) { /* children first: `ns` holds their sum */
		if (picture->ns[i] < nodes[i].total_ns)
			picture->ns[i] = nodes[i].total_ns;
		if (i)
			picture->ns[nodes[i].parent] += picture->ns[i];
	}
	if (!picture->ns[0])
		return;
	for (uint32_t i = 0, more = 1; more; i = more) {
		uint64_t start = picture->start[i];

		for (uint32_t child = nodes[i].first; child; child = nodes[child].next) {
			picture->start[child] = start;
			start += picture->ns[child];
		}
		more = next_drawn(picture, i);
		drawn += more != 0;
		picture->deepest = nodes[more].depth > picture->deepest ? nodes[more].depth : picture->deepest;
	}
	picture->left_out = picture->tree->nodes.count - drawn;
}

/* --- what is written ------------------------------------------------------------------------------------------------------ */

/* As text of XML, at most `most` characters of it. XML knows no U+FFFE and U+FFFF. */
static int write_xml(struct ada_output *output, const char *name, size_t most)
{
	char *text = ada_output_prepare(ADA_FORMAT_TEXT, name);
	bool cut = text && ada_output_width(text) > most;
	size_t left = cut ? most - 2 : most;

	for (const char *at = text; at && *at && left; left--) {
		size_t length = ada_utf8_length(at);

		length = length ? length : 1;
		if (*at == '&' || *at == '<' || *at == '>')
			ada_output_string(output, *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : "&gt;");
		else if (length == 3 && (!memcmp(at, "\xef\xbf\xbe", 3) || !memcmp(at, "\xef\xbf\xbf", 3)))
			ada_output_string(output, "?");
		else
			ada_output_bytes(output, at, length);
		at += length;
	}
	if (cut)
		ada_output_string(output, "..");
	free(text);
	return text ? 0 : -ENOMEM;
}

static const char *name_of(const struct picture *picture, const struct ada_tree_node *node, char buffer[ADA_NAME_BUFFER])
{
	if (!node->depth)
		return "all threads";
	if (node->depth == 1)
		return picture->threads->labels[node->key & ~ADA_TREE_GROUP];
	if (node->key == ADA_NO_FUNCTION)
		return "[other paths]";
	return ada_module_function(node->module, node->function_id, buffer);
}

/* Warm colours, by FNV-1a of the name: a function has the same in every picture. What is no function is grey. */
static void write_colour(struct ada_output *output, const struct ada_tree_node *node, const char *name)
{
	uint32_t hash = 2166136261u;

	if (node->depth < 2 || node->key == ADA_NO_FUNCTION) {
		ada_output_string(output, "rgb(205,210,215)");
		return;
	}
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	ada_output_format(output, "rgb(%u,%u,%u)", 205 + hash % 50, 80 + (hash >> 8) % 150, 50 + (hash >> 16) % 50);
}

static const char *module_name(const struct ada_module *module)
{
	const char *slash = strrchr(module->path, '/');

	return slash ? slash + 1 : module->path;
}

static int write_frame(struct picture *picture, uint32_t number)
{
	const struct ada_tree_node *node = &picture->tree->nodes.items[number];
	struct ada_output *output = picture->output;
	double x = MARGIN + pixels(picture, picture->start[number]), wide = pixels(picture, picture->ns[number]);
	unsigned y = TOP + ROW * node->depth;
	char buffer[ADA_NAME_BUFFER];
	const char *name = name_of(picture, node, buffer);
	int result;

	ada_output_string(output, "<g class=\"f\"><title>");
	result = write_xml(output, name, SIZE_MAX);
	if (!result && node->module) {
		ada_output_string(output, "\nin ");
		result = write_xml(output, module_name(node->module), SIZE_MAX);
	}
	ada_output_format(output, "\n%.3f ms, %.2f %%", (double)picture->ns[number] / 1e6,
			  100 * (double)picture->ns[number] / (double)picture->ns[0]);
	if (node->depth > 1)
		ada_output_format(output, ", %" PRIu64 " call%s", node->calls, node->calls == 1 ? "" : "s");
	ada_output_format(output, "</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%u\" data-ns=\"%" PRIu64 "\" fill=\"", x, y,
			  wide, ROW - 1u, picture->ns[number]);
	write_colour(output, node, name);
	ada_output_format(output, "\"/><text x=\"%.3f\" y=\"%u\">", x + 2, y + ROW - 5);
	if (!result && wide >= 4 + 3 * LETTER)
		result = write_xml(output, name, (size_t)((wide - 4) / LETTER));
	ada_output_string(output, "</text></g>\n");
	return result;
}

static int write_head(const struct picture *picture, const struct ada_export *export)
{
	unsigned high = TOP + ROW * (picture->deepest + 1) + BOTTOM;
	struct ada_output *output = picture->output;
	int result;

	ada_output_format(output,
			  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" viewBox=\"0 0 %.0f %u\">\n<title>",
			  WIDE, high, WIDE, high);
	result = write_xml(output, export->selection->session->path, SIZE_MAX);
	ada_output_string(output,
			  "</title>\n<style>text { font: 12px monospace; fill: #000 } .f { cursor: pointer } .f:hover rect { stroke: "
			  "#000 } .f text { pointer-events: none } #search { cursor: pointer; text-decoration: underline }</style>\n"
			  "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"10\" y=\"24\" style=\"font-size: 15px\">");
	if (!result)
		result = write_xml(output, export->selection->session->path, 100);
	ada_output_format(output,
			  "</text>\n<text id=\"said\" x=\"%.0f\" y=\"24\" text-anchor=\"end\"/>\n"
			  "<text id=\"search\" x=\"%.0f\" y=\"24\" text-anchor=\"end\">search</text>\n",
			  WIDE - 80, WIDE - MARGIN);
	return result;
}

static void write_end(const struct picture *picture, const struct ada_export *export)
{
	const struct ada_completeness *completeness = &export->completeness;
	struct ada_output *output = picture->output;

	ada_output_format(output, "<text x=\"10\" y=\"%u\">", TOP + ROW * (picture->deepest + 1) + 18);
	if (!picture->ns[0])
		ada_output_string(output, "no time of a call here; ");
	ada_output_format(output, "%" PRIu64 " frames are too narrow or too deep to be drawn; %" PRIu64 " events were lost",
			  picture->left_out, ada_completeness_lost(completeness));
	if (completeness->overwritten)
		ada_output_format(output, ", %" PRIu64 " older ones overwritten", completeness->overwritten);
	if (completeness->muted)
		ada_output_format(output, "; %" PRIu64 " functions were muted for a time, %.1f %% of the calls", completeness->muted,
				  100 * completeness->muted_share);
	if (completeness->aged)
		ada_output_format(output, "; %" PRIu64 " calls have aged and are not drawn", completeness->aged);
	if (export->paths_merged)
		ada_output_string(output, "; some paths are merged");
	ada_output_string(output, completeness->complete ? "</text>\n" : "; the recording is not complete</text>\n");
	ada_output_string(output, "<script><![CDATA[\n");
	ada_output_string(output, ada_svg_script);
	ada_output_string(output, "]]></script>\n</svg>\n");
}

static int draw(struct picture *picture, const struct ada_export *export)
{
	size_t count = picture->tree->nodes.count;
	int result = 0;

	picture->ns = calloc(count + 1, sizeof *picture->ns);
	picture->start = calloc(count + 1, sizeof *picture->start);
	if (!picture->ns || !picture->start)
		return -ENOMEM;
	lay_out(picture);
	result = write_head(picture, export);
	for (uint32_t i = 0, more = picture->ns[0] != 0; more && !result; i = more) {
		result = write_frame(picture, i);
		more = next_drawn(picture, i);
		if (!result && !(i & 4095) && ada_interrupted())
			result = -EINTR;
	}
	if (!result)
		write_end(picture, export);
	return result;
}

int ada_export_svg(struct ada_export *export, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	struct ada_thread_groups threads;
	struct picture picture = { .output = export->output, .threads = &threads };
	struct ada_tree tree = {};
	int result = ada_thread_groups_make(&threads, selection);

	if (!result)
		result = ada_tree_compute(&tree, selection, &(struct ada_tree_how){ .groups = threads.groups, .clip = true }, 0, error);
	if (!result) {
		picture.tree = &tree;
		export->completeness = tree.completeness;
		export->paths_merged = tree.cut;
		result = draw(&picture, export);
	}
	if (result == -EINTR)
		ada_error_set(error, EINTR, "interrupted");
	else if (result)
		ada_error_system(error, -result, "%s", selection->session->path);
	free(picture.ns);
	free(picture.start);
	ada_thread_groups_free(&threads);
	ada_tree_free(&tree);
	return result;
}
