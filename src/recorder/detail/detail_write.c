/* From detail chunks to detail.atf: the records of windows, each once, in order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "recorder/bound/bound.h"
#include "recorder/detail/detail_state.h"
#include "recorder/index/sink.h"

AtfDetailWindow ada_detail_entry(const struct ada_window *window, uint64_t end_ns)
{
	return (AtfDetailWindow){ .start_ns = window->start_ns,
				  .end_ns = end_ns < window->end_ns ? end_ns : window->end_ns,
				  .marked_ns = window->marked_ns,
				  .window_id = window->id,
				  .marked_count = window->marked_count < UINT32_MAX ? (uint32_t)window->marked_count : UINT32_MAX };
}

/* The window begun last ends with the thread's newest record: no file has what comes behind. */
static void end_entry(const struct ada_details *details, const struct detail_thread *thread)
{
	AtfDetailWindow entry;

	if (thread->failed || !thread->writer || !thread->in_window || thread->window >= ada_windows_count(details->windows))
		return;
	entry = ada_detail_entry(ada_windows_at(details->windows, thread->window), thread->last_ns);
	atf_detail_writer_window_update(thread->writer, &entry);
}

/* -EAGAIN: the disk is in trouble, nothing was done, and can be done later. Else the thread's files are over: what its file holds is counted
 * when that is closed, since the index must know by then which events the records are of. */
static int failed(struct ada_details *details, struct detail_thread *thread, uint32_t number, int status)
{
	int code = status == -ATF_ERROR_SYSTEM ? errno : status == -ATF_ERROR_MEMORY ? ENOMEM : EIO;
	char shown[PATH_MAX];

	if (code == EAGAIN && ada_sink_troubled(details->options.lane.patient))
		return -EAGAIN;
	if (ada_sink_trouble(details->options.lane.patient, -code) && !thread->writer)
		return -EAGAIN;
	end_entry(details, thread);
	thread->failed = true;
	if (!*details->error.text)
		ada_error_system(&details->error, code, "%s/thread_%u: detail can't be written",
				 ada_directory_shown(details->drain->directory, shown), number);
	return -code;
}

/* The segment of the file, and so many bytes of it. */
static struct ada_bound_segment segment_of(const struct ada_details *details, const struct detail_thread *thread, uint32_t number,
					   uint64_t bytes)
{
	return (struct ada_bound_segment){ .start_ns = thread->last_ns,
					   .end_ns = thread->last_ns,
					   .bytes = bytes,
					   .provider = details->drain->options.provider,
					   .thread = number,
					   .segment = thread->segment };
}

static void tell_written(const struct ada_details *details, struct detail_thread *thread, uint32_t number)
{
	const struct ada_bound_segment wrote = segment_of(details, thread, number, thread->file_bytes - thread->told_bytes);

	if (wrote.bytes)
		ada_bound_detail_wrote(details->drain->options.bound, &wrote);
	thread->told_bytes = thread->file_bytes;
}

static void tell_closed(const struct ada_details *details, struct detail_thread *thread, uint32_t number)
{
	const struct ada_bound_segment closed = segment_of(details, thread, number, thread->file_bytes);

	tell_written(details, thread, number);
	ada_bound_detailed(details->drain->options.bound, &closed);
}

static int close_file(struct ada_details *details, struct detail_thread *thread, uint32_t number)
{
	int status = thread->writer ? atf_detail_writer_close(thread->writer) : 0, code;

	if (status == -ATF_ERROR_SYSTEM && errno == EAGAIN)
		return failed(details, thread, number, status);
	code = errno; /* why it failed, not what counting met */
	if (thread->writer && status)
		ada_detail_cut(details, thread, number);
	else if (thread->writer)
		tell_closed(details, thread, number);
	errno = code;
	thread->writer = NULL;
	thread->in_window = false;
	return status ? failed(details, thread, number, status) : 0;
}

static int open_file(struct ada_details *details, struct detail_thread *thread, uint32_t number, uint32_t segment)
{
	char directory[PATH_MAX], path[PATH_MAX];
	struct ada_lane *lane = &details->drain->lanes.items[number];
	struct atf_detail_options options = { .thread_id = lane->thread_id, .arch = ATF_ARCH_X86_64, .sink = details->options.lane.sink };
	int status = close_file(details, thread, number);

	if (status)
		return status;
	if (ada_path(directory, "%s/thread_%u", details->drain->directory, number) ||
	    atf_detail_path(path, sizeof path, directory, segment)) {
		errno = ENAMETOOLONG;
		return failed(details, thread, number, -ATF_ERROR_SYSTEM);
	}
	ada_lane_spare_files(&details->options.lane);
	do
		status = atf_detail_writer_open(&thread->writer, path, &options);
	while (status && ada_lane_room_made(&details->options.lane));
	if (status) {
		int code = errno;

		thread->writer = NULL;
		unlink(path);
		errno = code;
		return failed(details, thread, number, status);
	}
	thread->segment = segment;
	thread->file_bytes = thread->told_bytes = 0;
	thread->shares.count = 0;
	ada_lane_has_detail(lane, details->drain->directory, segment);
	return 0;
}

struct pass { /* over one thread */
	struct ada_details *details;
	struct detail_thread *thread;
	uint32_t number;
	uint64_t until_ns;		     /* later records wait for another time */
	struct ada_window *window;	     /* the window of the record before */
	uint8_t stack[ADA_DETAIL_STACK_MAX]; /* of the record at hand */
	uint8_t captured[ATF_DETAIL_CAPTURED_MAX];
};

/* As far as it is entries. */
static void decode_captured(struct pass *pass, const struct ada_detail_view *view, struct atf_detail *record)
{
	struct atf_captured unused;
	uint32_t end = 0;

	record->flags |= ATF_DETAIL_CAPTURED;
	record->captured = memcpy(pass->captured, view->captured, view->captured_size);
	record->captured_size = (uint16_t)view->captured_size;
	while (atf_detail_captured(record, &end, &unused))
		;
	record->captured_size = (uint16_t)end;
	if (!end)
		record->flags &= (uint16_t)~ATF_DETAIL_CAPTURED;
}

/* A copy: what the agent wrote goes as it is; what a reader computes with is bounded. */
static void decode(struct pass *pass, const struct ada_detail *from, const struct ada_detail_view *view, struct atf_detail *record)
{
	const struct ada_details_options *options = &pass->details->options;
	uint32_t asked = pass->details->segment->stack_bytes; /* the agent captures words of 16 bytes */
	bool call = view->kind == ADA_EVENT_CALL;

	record->function_id = view->function_id;
	record->event_type = call ? ATF_DETAIL_CALL : ATF_DETAIL_RETURN;
	record->flags = view->vectors ? ATF_DETAIL_VECTORS : 0;
	memcpy(record->x, view->x, (call ? 8 : 4) * sizeof record->x[0]);
	record->lr = from->lr;
	record->fp = from->fp;
	record->sp = from->sp;
	record->stack_size = (uint16_t)(view->stack_size < asked ? view->stack_size : asked);
	record->stack = memcpy(pass->stack, view->stack, record->stack_size);
	if (view->vectors)
		memcpy(record->vectors, view->vectors, sizeof record->vectors);
	if (view->captured_size)
		decode_captured(pass, view, record);
	if (options->redacted)
		ada_detail_redact(record, pass->stack, pass->captured, options->redacted(options->context, record->function_id),
				  &pass->thread->redacted);
}

static struct ada_window *window_of(struct pass *pass, uint64_t ns)
{
	if (!pass->window || ns < pass->window->start_ns || ns > pass->window->end_ns)
		pass->window = ada_windows_of(pass->details->windows, ns);
	return pass->window && pass->window->frozen ? pass->window : NULL;
}

/* Brings the entry of the window begun last up to date, before another begins or its segment ends: up to here the window is final. */
static void finish_entry(const struct pass *pass)
{
	const struct detail_thread *thread = pass->thread;
	AtfDetailWindow entry;

	if (thread->failed || !thread->writer || !thread->in_window || thread->window >= ada_windows_count(pass->details->windows))
		return;
	entry = ada_detail_entry(ada_windows_at(pass->details->windows, thread->window), pass->until_ns);
	atf_detail_writer_window_update(thread->writer, &entry);
}

static int put_record(struct pass *pass, const struct detail_place *place, struct atf_detail *record, uint64_t ns)
{
	const struct ada_lane *lane = &pass->details->drain->lanes.items[pass->number];
	struct detail_thread *thread = pass->thread;
	struct ada_window *window = pass->window;
	int status = 0;

	record->timestamp_ns = ns < thread->last_ns ? thread->last_ns : ns;
	record->thread_id = lane->thread_id;
	if (!thread->writer || thread->segment != place->segment) {
		finish_entry(pass);
		status = open_file(pass->details, thread, pass->number, place->segment);
	}
	if (status)
		return status;
	if (!thread->in_window || thread->window != window->id) {
		AtfDetailWindow entry;

		finish_entry(pass);
		entry = ada_detail_entry(window, pass->until_ns);
		entry.first_detail_seq = record->detail_seq;
		status = ada_detail_share_begin(thread, window->id) ? atf_detail_writer_window(thread->writer, &entry) : -ATF_ERROR_MEMORY;
		thread->in_window = !status;
		thread->window = window->id;
	}
	status = status ? status : atf_detail_writer_append(thread->writer, record);
	if (status == -ATF_ERROR_RANGE) {
		pass->details->refused++; /* numbers that contradict each other: an agent gone wrong */
		return 0;
	}
	if (status)
		return failed(pass->details, thread, pass->number, status);
	thread->last_ns = record->timestamp_ns;
	thread->touched = true;
	thread->file_bytes += sizeof(DetailEventHeader) + sizeof(DetailFunctionPayload) + sizeof(uint64_t) + record->stack_size +
			      record->captured_size + (record->flags & ATF_DETAIL_VECTORS ? sizeof record->vectors : 0);
	thread->shares.items[thread->shares.count - 1].count++;
	thread->persisted++;
	pass->details->persisted++;
	window->event_count++;
	if (window->settled) /* committed late */
		pass->details->settled_events++;
	return 0;
}

/* What no file takes any more is passed by, and counted. */
static int persist(struct pass *pass, const struct detail_place *place, struct atf_detail *record, uint64_t ns)
{
	const struct ada_lane *lane = &pass->details->drain->lanes.items[pass->number];
	const struct detail_thread *thread = pass->thread;
	struct ada_window *window = pass->window;
	int status;

	if (place->segment < lane->leaving && !ada_lane_keeps(lane, place->segment)) {
		window->aged = true; /* --disk-limit: its index goes, or has gone */
		return 0;
	}
	status = thread->failed ? 0 : put_record(pass, place, record, ns);
	if (!thread->failed)
		return status;
	ada_detail_unwritten(pass->details, window, 1);
	return 0;
}

/* Call after the records were read: whoever takes a chunk anew says so in its header before writing the first record. */
static bool overwritten(const struct pass *pass, const struct detail_place *place)
{
	bool claimed;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !ada_detail_chunk(pass->details, pass->number, place, &claimed);
}

/* False: part of the place is later than until_ns. */
static bool pass_by(struct pass *pass, const struct detail_place *place)
{
	/* A window may yet want what is later than until_ns: its mark may just be on its way. */
	if (ada_detail_event_ns(pass->details, pass->number, place->seq + place->count - 1, place->last_counter) > pass->until_ns)
		return false;
	pass->thread->cursor = place->seq + place->count;
	return true;
}

/* The place's detail is gone. Events committed late were no hole when their windows were written, and are one now: these windows can't be
 * cut any more, but say so. */
static bool pass_by_gone(struct pass *pass, const struct detail_place *place)
{
	const struct detail_thread *thread = pass->thread;
	uint64_t first = ada_detail_event_ns(pass->details, pass->number, place->seq, place->first_counter);
	uint64_t last = ada_detail_event_ns(pass->details, pass->number, place->seq + place->count - 1, place->last_counter);

	first = first > thread->late_ns ? first : thread->late_ns;
	last = last < pass->details->done_ns ? last : pass->details->done_ns;
	for (size_t i = ada_windows_count(pass->details->windows); i-- && thread->cursor < thread->late_seq;) {
		struct ada_window *window = ada_windows_at(pass->details->windows, i);

		if (window->end_ns < first)
			break;
		if (window->frozen && window->start_ns <= last)
			window->shorts |= ADA_SHORT_LATE;
	}
	return pass_by(pass, place);
}

/* Whether the place lies between windows. Then nothing holds its chunk, and what is read there may be another thread's by now. */
static bool unwanted(const struct pass *pass, const struct detail_place *place)
{
	uint64_t first = ada_detail_event_ns(pass->details, pass->number, place->seq, place->first_counter);
	uint64_t last = ada_detail_event_ns(pass->details, pass->number, place->seq + place->count - 1, place->last_counter);

	return !ada_windows_any(pass->details->windows, first, last);
}

/* False: the rest is later than until_ns, or can't be written. */
static bool write_place(struct pass *pass, const struct detail_place *place)
{
	struct ada_details *details = pass->details;
	bool claimed;
	const uint8_t *chunk = ada_detail_chunk(details, pass->number, place, &claimed);
	uint32_t detail_seq = place->detail_seq;
	struct detail_walk walk;

	if (!chunk)
		return pass_by_gone(pass, place);
	if (unwanted(pass, place) && pass_by(pass, place))
		return true;
	ada_detail_walk(details, chunk, place, &walk);
	for (uint64_t seq = place->seq; seq < place->seq + place->count; seq++) {
		struct ada_detail_view view;
		const struct ada_detail *from = ada_detail_record(&walk, seq, &view);
		uint32_t number;
		uint64_t ns;

		if (!from) {
			if (seq == pass->thread->cursor)
				pass->thread->cursor++;
			continue;
		}
		number = detail_seq++;
		if (seq < pass->thread->cursor)
			continue;
		ns = ada_detail_event_ns(details, pass->number, seq, from->counter);
		if (ns > pass->until_ns)
			return overwritten(pass, place) && pass_by_gone(pass, place);
		if (window_of(pass, ns)) {
			struct atf_detail record = { .detail_seq = number, .index_seq = place->index_seq + (uint32_t)(seq - place->seq) };

			decode(pass, from, &view, &record);
			if (overwritten(pass, place))
				return pass_by_gone(pass, place);
			if (persist(pass, place, &record, ns))
				return false;
		}
		pass->thread->cursor = seq + 1;
	}
	return true;
}

static void write_thread(struct ada_details *details, uint32_t number, uint64_t until_ns)
{
	struct detail_thread *thread = &details->threads.items[number];
	struct pass pass = { .details = details, .thread = thread, .number = number, .until_ns = until_ns };
	size_t i;

	if (number >= details->drain->lanes.count || !thread->places.count)
		return;
	/* The place of the cursor begins at or before it; those behind it lie wholly ahead. */
	i = ada_array_below(&thread->places, seq, thread->cursor + 1);
	for (i = i ? i - 1 : 0; i < thread->places.count; i++) {
		const struct detail_place *place = &thread->places.items[i];

		if (place->seq + place->count <= thread->cursor)
			continue;
		if (thread->cursor < place->seq)
			thread->cursor = place->seq;
		if (!write_place(&pass, place))
			break;
	}
	tell_written(details, thread, number);
}

/* Brings bounds and counts up to date; from now on readers find what was written. */
static void update_entries(struct ada_details *details, const struct ada_window *window, uint64_t end_ns)
{
	AtfDetailWindow entry = ada_detail_entry(window, end_ns);

	for (uint32_t i = 0; i < details->threads.count; i++) {
		struct detail_thread *thread = &details->threads.items[i];
		int status = 0;

		if (thread->failed || !thread->writer || !thread->in_window || thread->window != window->id)
			continue;
		status = atf_detail_writer_window_update(thread->writer, &entry);
		if (!status && thread->touched)
			status = atf_detail_writer_flush(thread->writer);
		thread->touched = status && failed(details, thread, i, status) == -EAGAIN;
	}
}

static void window_settle(struct ada_details *details, struct ada_window *window)
{
	window->settled = true;
	ada_detail_settle_losses(details, window);
	ada_detail_size(details, window);
	details->settled++;
	details->settled_ns += window->end_ns > window->start_ns ? window->end_ns - window->start_ns : 0;
	details->settled_events += window->event_count;
}

void ada_detail_write(struct ada_details *details, uint64_t until_ns)
{
	size_t count = ada_windows_count(details->windows), first = count;
	uint64_t done = 0;
	struct detail_pool pool;
	bool before = true; /* all windows before are settled; else this one waits, since nobody would look at them any more */

	for (size_t i = 0; i < count; i++) {
		struct ada_window *window = ada_windows_at(details->windows, i);
		uint64_t end;

		if (window->settled || window->start_ns > until_ns)
			continue;
		first = i < first ? i : first;
		window->frozen = true;
		end = window->end_ns < until_ns ? window->end_ns : until_ns;
		done = end > done ? end : done;
	}
	if (first == count)
		return;
	pool = ada_detail_pool(details);
	details->dumps++;
	details->pool_use_sum += (double)(pool.pinned + pool.open) / details->segment->detail_chunks;
	for (uint32_t i = 0; i < details->threads.count && !ada_sink_troubled(details->options.lane.patient); i++)
		write_thread(details, i, done);
	if (ada_sink_troubled(details->options.lane.patient))
		return; /* threads go on where they stopped */
	if (done > details->done_ns)
		details->done_ns = done;
	for (size_t i = first; i < count; i++) {
		struct ada_window *window = ada_windows_at(details->windows, i);

		if (window->start_ns > until_ns)
			break;
		if (window->settled)
			continue;
		window->written_ns = done < window->end_ns ? done : window->end_ns;
		update_entries(details, window, done);
		before &= window->closed && window->end_ns <= until_ns;
		if (before)
			window_settle(details, window);
	}
}

bool ada_detail_write_late(struct ada_details *details)
{
	uint64_t before = details->persisted;

	if (ada_sink_troubled(details->options.lane.patient))
		return false;
	details->late = false;
	if (!details->done_ns)
		return false;
	for (uint32_t i = 0; i < details->threads.count; i++) {
		struct detail_thread *thread = &details->threads.items[i];
		int status;

		write_thread(details, i, details->done_ns);
		status = thread->writer && thread->touched ? atf_detail_writer_flush(thread->writer) : 0;
		thread->touched = status && failed(details, thread, i, status) == -EAGAIN;
	}
	return details->persisted > before;
}

/* Whether nobody can want anything of the thread any more: all is written, or gone. */
static bool used_up(const struct ada_details *details, uint32_t number)
{
	const struct detail_thread *thread = &details->threads.items[number];
	bool claimed;

	return thread->cursor >= details->drain->lanes.items[number].next_seq || !thread->places.count ||
	       !ada_detail_chunk(details, number, &thread->places.items[thread->places.count - 1], &claimed);
}

void ada_detail_close_ended(struct ada_details *details)
{
	if (ada_sink_troubled(details->options.lane.patient))
		return;
	for (uint32_t i = 0; i < details->threads.count && i < details->drain->lanes.count; i++) {
		struct detail_thread *thread = &details->threads.items[i];

		if (thread->writer && details->drain->lanes.items[i].closed && used_up(details, i))
			close_file(details, thread, i);
	}
}

void ada_details_leave(struct ada_details *details, uint32_t number, uint32_t border)
{
	struct detail_thread *thread = number < details->threads.count ? &details->threads.items[number] : NULL;

	if (thread && thread->writer && thread->segment < border && !ada_lane_keeps(&details->drain->lanes.items[number], thread->segment))
		close_file(details, thread, number);
}

void ada_details_drop(struct ada_details *details, uint32_t number, uint32_t segment)
{
	struct detail_thread *thread = number < details->threads.count ? &details->threads.items[number] : NULL;

	if (thread && thread->writer && thread->segment == segment)
		close_file(details, thread, number);
}

void ada_detail_close_all(struct ada_details *details)
{
	for (uint32_t i = 0; i < details->threads.count; i++) {
		close_file(details, &details->threads.items[i], i);
		ada_array_free(&details->threads.items[i].places);
	}
}
