/* Arguments, registers and stack of an event, for `ada dump --detail`. */
#ifndef ADA_CLI_DUMP_DETAIL_H
#define ADA_CLI_DUMP_DETAIL_H
#include "base/output.h"
#include "query/calls/timeline.h"
#include "query/values/arguments.h"

#define ADA_DETAIL_CSV "rdi,rsi,rdx,rcx,r8,r9,rax,r10,return_address,rbp,rsp,xmm0,xmm1,xmm2,xmm3,xmm4,xmm5,xmm6,xmm7,stack"

#define ADA_DETAIL_CSV_END "arguments,result"

/* The moment's record. False: the event has none, or lies outside of every window, or its file can't be read (`ada verify` says so). */
bool ada_detail_of(const struct ada_moment *moment, struct atf_detail *record);
/* Each takes NULL where there is no record; `arguments` is all zero then. */
void ada_detail_json(struct ada_output *output, const struct atf_detail *record,
		     const struct ada_arguments *arguments);					 /* an object, or null */
void ada_detail_csv(struct ada_output *output, const struct atf_detail *record);		 /* the fields of ADA_DETAIL_CSV */
void ada_detail_csv_end(struct ada_output *output, const struct ada_arguments *arguments);	 /* and of ADA_DETAIL_CSV_END */
void ada_detail_text(struct ada_output *output, const struct atf_detail *record, size_t indent); /* lines, or nothing */
#endif
