/* The metadata of a CTF trace, in TSDL. Functions and modules are enumerations: an event has the number, readers show the name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "query/export/ctf.h"

static const char types[] = "/* CTF 1.8 */\n"
			    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
			    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
			    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
			    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
			    "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
			    "\n"
			    "trace {\n"
			    "\tmajor = 1;\n"
			    "\tminor = 8;\n"
			    "\tbyte_order = le;\n"
			    "\tpacket.header := struct {\n"
			    "\t\tuint32_t magic;\n"
			    "\t\tuint32_t stream_id;\n"
			    "\t\tuint64_t stream_instance_id;\n"
			    "\t};\n"
			    "};\n\n";

static const char clocks[] = "typealias integer { size = 64; align = 8; signed = false; map = clock.boottime.value; } := time_t;\n\n"
			     "struct packet_context {\n"
			     "\tuint64_t content_size;\n"
			     "\tuint64_t packet_size;\n"
			     "\ttime_t timestamp_begin;\n"
			     "\ttime_t timestamp_end;\n"
			     "\tuint64_t events_discarded;\n"
			     "\tuint64_t packet_seq_num;\n"
			     "\tuint32_t process;\n"
			     "\tuint32_t thread;\n"
			     "\tuint32_t tid;\n"
			     "\tstring process_name;\n"
			     "\tstring thread_name;\n"
			     "};\n\n"
			     "struct event_header {\n"
			     "\tuint8_t id;\n"
			     "\ttime_t timestamp;\n"
			     "};\n\n";

static const char
	streams[] = "stream {\n\tid = 0;\n\tevent.header := struct event_header;\n\tpacket.context := struct packet_context;\n};\n\n"
		    "stream {\n\tid = 1;\n\tevent.header := struct event_header;\n\tpacket.context := struct packet_context;\n};\n\n"
		    "stream {\n\tid = 2;\n\tevent.header := struct event_header;\n\tpacket.context := struct packet_context;\n};\n\n";

static const char
	marks[] = "event {\n\tname = \"lost\";\n\tid = 4;\n\tstream_id = 0;\n\tfields := struct {\n"
		  "\t\tuint64_t index_seq;\n\t\tuint32_t depth;\n\t\tuint64_t count;\n\t};\n};\n\n"
		  "event {\n\tname = \"mark\";\n\tid = 0;\n\tstream_id = 1;\n\tfields := struct {\n"
		  "\t\tuint32_t window;\n\t\tint32_t thread;\n\t\tint64_t index_seq;\n\t\tstring kind;\n\t\tstring label;\n\t};\n};\n\n";

/* The state lasts until the thread's next such event. */
static const char cpu[] = "enum cpu_state : uint32_t {\n\t\"running\" = 0,\n\t\"off CPU\" = 1,\n\t\"preempted\" = 2,\n\t\"unknown\" = 3,\n"
			  "\t\"end\" = 4,\n};\n\n"
			  "event {\n\tname = \"cpu\";\n\tid = 0;\n\tstream_id = 2;\n\tfields := struct {\n"
			  "\t\tenum cpu_state state;\n\t\tuint32_t by_tid;\n\t};\n};\n";

/* Puts a literal: what is neither printable ASCII nor UTF-8 becomes octal numbers. */
static void put_literal(struct ada_output *output, const char *text)
{
	char *clean = ada_output_utf8_copy(text), octal[8];

	if (!clean)
		output->error = ENOMEM;
	ada_output_string(output, "\"");
	for (const unsigned char *c = (const unsigned char *)clean; c && *c; c++) {
		if (*c >= ' ' && *c != '"' && *c != '\\' && *c != 127) {
			ada_output_bytes(output, (const char *)c, 1);
			continue;
		}
		snprintf(octal, sizeof octal, "\\%03o", *c);
		ada_output_string(output, octal);
	}
	ada_output_string(output, "\"");
	free(clean);
}

static void put_number(struct ada_output *output, const char *before, uint64_t number, const char *after)
{
	ada_output_string(output, before);
	ada_output_u64(output, number);
	ada_output_string(output, after);
}

/* clock_0 = "video"; clock_0_anchor_0_host_ns = 1; clock_0_anchor_0_media_ns = 2; ... */
static void put_anchors(struct ada_output *output, const struct ada_session *session)
{
	uint64_t clock = 0, number = 0;

	for (size_t i = 0; i < session->anchor_count; i++) {
		const struct ada_timing_anchor *anchor = &session->anchors[i];

		if (!i || strcmp(anchor->clock, anchor[-1].clock)) {
			clock += i > 0;
			number = 0;
			put_number(output, "\tclock_", clock, " = ");
			put_literal(output, anchor->clock);
			ada_output_string(output, ";\n");
		}
		put_number(output, "\tclock_", clock, "_anchor_");
		put_number(output, "", number, "_host_ns = ");
		put_number(output, "", anchor->hostTimeNs, ";\n");
		put_number(output, "\tclock_", clock, "_anchor_");
		put_number(output, "", number++, "_media_ns = ");
		put_number(output, "", anchor->mediaTimeNs, ";\n");
	}
}

static void put_environment(struct ada_output *output, const struct ada_export *export)
{
	const struct ada_session *session = export->selection->session;
	const char *host = ada_json_text(ada_json_get(session->document, "host"), "name", "");
	int64_t offset = 0;

	ada_output_string(output, "env {\n\ttracer_name = \"ada\";\n\thostname = ");
	put_literal(output, host);
	ada_output_string(output, ";\n\tsession = ");
	put_literal(output, ada_json_text(session->document, "name", ""));
	ada_output_string(output, ";\n\tprogram = ");
	put_literal(output, ada_json_text(session->document, "program", ""));
	put_number(output, ";\n\tevents = ", export->completeness.events, ";\n");
	put_number(output, "\tlost = ", export->completeness.lost, ";\n");
	put_anchors(output, session);
	ada_output_string(output, "};\n\n");
	ada_output_string(output, "clock {\n\tname = boottime;\n\tdescription = \"CLOCK_BOOTTIME\";\n\tfreq = 1000000000;\n");
	if (ada_session_wall_offset(session, &offset) && offset > 0) {
		put_number(output, "\toffset_s = ", (uint64_t)offset / 1000000000, ";\n");
		put_number(output, "\toffset = ", (uint64_t)offset % 1000000000, ";\n");
	}
	ada_output_string(output, "};\n\n");
}

/* The type that every event uses. Without functions no event does, but TSDL wants one entry. */
static void put_functions(struct ada_output *output, const struct ada_export *export)
{
	const struct ada_session *session = export->selection->session;
	const struct ada_name_list *names = &export->names;

	ada_output_string(output, "enum function : uint32_t {\n");
	for (size_t i = 0; i < names->items.count; i++) {
		ada_output_string(output, "\t");
		put_literal(output, names->items.items[i]->function);
		put_number(output, " = ", i, ",\n");
	}
	ada_output_string(output, names->items.count ? "};\n\n" : "\t\"?\" = 0,\n};\n\n");
	ada_output_string(output, "enum module : uint32_t {\n");
	for (size_t i = 0; i < session->modules.count; i++) {
		ada_output_string(output, "\t");
		put_literal(output, ada_module_name(session->modules.items[i]));
		put_number(output, " = ", session->modules.items[i]->number, ",\n");
	}
	ada_output_string(output, "\t\"?\" = 4294967295,\n};\n\n");
}

static void put_events(struct ada_output *output)
{
	static const char *const kinds[] = { "call", "return", "exception" };

	for (size_t i = 0; i < 3; i++) {
		ada_output_string(output, "event {\n\tname = ");
		put_literal(output, kinds[i]);
		put_number(output, ";\n\tid = ", i + 1, ";\n\tstream_id = 0;\n\tfields := struct {\n");
		ada_output_string(output, "\t\tuint64_t index_seq;\n\t\tuint32_t depth;\n\t\tenum function function;\n"
					  "\t\tenum module module;\n\t};\n};\n\n");
	}
}

int ada_ctf_write_metadata(struct ada_export *export, const char *path, struct ada_error *error)
{
	struct ada_output *output = malloc(sizeof *output);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), result = 0;

	if (fd < 0 || !output) {
		result = ada_error_system(error, fd < 0 ? errno : ENOMEM, "%s", path);
		goto out;
	}
	ada_output_open(output, fd);
	ada_output_string(output, types);
	put_environment(output, export);
	ada_output_string(output, clocks);
	ada_output_string(output, streams);
	put_functions(output, export);
	put_events(output);
	ada_output_string(output, marks);
	ada_output_string(output, cpu);
	if (!ada_output_flush(output))
		result = ada_error_system(error, output->error, "can't write %s", path);
out:
	if (fd >= 0 && close(fd) && !result)
		result = ada_error_system(error, errno, "can't write %s", path);
	free(output);
	return result;
}
