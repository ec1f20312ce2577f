/* The tables of `ada info`. */
#ifndef ADA_CLI_INFO_TABLES_H
#define ADA_CLI_INFO_TABLES_H
#include "cli/ground/rows.h"
#include "query/session/session.h"

struct ada_info {
	const struct ada_session *session;
	struct ada_output *output;
	enum ada_format format;
};

void ada_info_print_processes(struct ada_info *info);
void ada_info_print_threads(struct ada_info *info);
void ada_info_print_modules(struct ada_info *info);
void ada_info_print_anchors(struct ada_info *info);
const char *ada_info_exit(const json_object *exit, char text[64]); /* how a process ended */
uint64_t ada_info_packed_events(const struct ada_thread *thread);  /* events in packed files */
#endif
