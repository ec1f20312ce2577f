#include "recorder/sched/ring.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As the kernel writes them, with the sample_type below. */
struct id { /* behind each record but samples, which consist of it */
	uint32_t pid, tid;
	uint64_t ns;
	uint32_t cpu, reserved;
};
struct lost {
	uint64_t id, count;
	struct id at;
};

/* One event serves for both: a page fault is a sample, and a switch is a record of its own. */
static int event_open(pid_t pid, uint16_t cpu, uint64_t watermark, bool kernel_faults)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
					      .size = sizeof attributes,
					      .config = PERF_COUNT_SW_PAGE_FAULTS,
					      .sample_period = 1,
					      .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
					      .sample_id_all = 1,
					      .context_switch = 1,
					      .inherit = 1,
					      .disabled = 1,
					      .use_clockid = 1,
					      .clockid = CLOCK_BOOTTIME,
					      .exclude_kernel = !kernel_faults,
					      .exclude_hv = 1,
					      .watermark = 1,
					      .wakeup_watermark = (uint32_t)watermark };

	return (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int ada_sched_ring_open(struct ada_sched_ring *ring, pid_t pid, uint16_t cpu, uint32_t pages, bool kernel_faults)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	*ring = (struct ada_sched_ring){ .cpu = cpu, .data_bytes = pages * page };
	ring->fd = event_open(pid, cpu, ring->data_bytes / 2, kernel_faults);
	if (ring->fd < 0)
		return -errno;
	memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED) {
		int code = errno;

		close(ring->fd);
		ring->fd = -1;
		return -code;
	}
	ring->page = memory;
	return 0;
}

int ada_sched_ring_join(const struct ada_sched_ring *ring, pid_t pid, bool kernel_faults)
{
	int fd = event_open(pid, ring->cpu, ring->data_bytes / 2, kernel_faults), code;

	if (fd < 0 || !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		return fd < 0 ? -errno : fd;
	code = errno;
	close(fd);
	return -code;
}

void ada_sched_ring_close(struct ada_sched_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->data_bytes + (size_t)sysconf(_SC_PAGESIZE));
	if (ring->page)
		close(ring->fd);
	*ring = (struct ada_sched_ring){ .fd = -1, .cpu = ring->cpu };
}

void ada_sched_ring_record(int fd, bool on)
{
	ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* Behind this the records up to the head are there. */
void ada_sched_ring_look(struct ada_sched_ring *ring)
{
	ring->head = ring->page ? __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) : 0;
}

/* A record may lie across the ring's end. */
static void copy(const struct ada_sched_ring *ring, uint64_t at, void *to, size_t bytes)
{
	const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;

	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = data[(at + i) % ring->data_bytes];
}

static bool take_record(struct ada_sched_ring *ring, const struct perf_event_header *header, AtfSchedEvent *event)
{
	struct lost lost = { .count = 1 };

	if (header->type == PERF_RECORD_LOST) {
		if (header->size < sizeof *header + sizeof lost)
			return false;
		copy(ring, ring->tail + sizeof *header, &lost, sizeof lost);
		event->kind = ATF_SCHED_LOST;
	} else if (header->type == PERF_RECORD_SWITCH || header->type == PERF_RECORD_SAMPLE) {
		if (header->size < sizeof *header + sizeof lost.at)
			return false;
		copy(ring, ring->tail + header->size - sizeof lost.at, &lost.at, sizeof lost.at);
		event->thread_id = lost.at.tid;
		event->process_id = lost.at.pid;
		event->kind = header->type == PERF_RECORD_SAMPLE		 ? ATF_SCHED_FAULT :
			      !(header->misc & PERF_RECORD_MISC_SWITCH_OUT)	 ? ATF_SCHED_ON :
			      header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? ATF_SCHED_PREEMPTED :
										   ATF_SCHED_OFF;
	} else {
		return false;
	}
	event->count = lost.count;
	event->timestamp_ns = lost.at.ns;
	event->cpu = ring->cpu;
	return true;
}

const AtfSchedEvent *ada_sched_ring_next(struct ada_sched_ring *ring)
{
	struct perf_event_header header;

	while (!ring->known && ring->tail < ring->head) {
		copy(ring, ring->tail, &header, sizeof header);
		if (header.size < sizeof header) { /* no kernel writes that */
			ring->tail = ring->head;
			break;
		}
		ring->next = (AtfSchedEvent){ .count = 0 };
		ring->next_bytes = header.size;
		ring->known = take_record(ring, &header, &ring->next);
		if (!ring->known)
			ada_sched_ring_pass(ring);
	}
	return ring->known ? &ring->next : NULL;
}

void ada_sched_ring_pass(struct ada_sched_ring *ring)
{
	ring->tail += ring->next_bytes;
	ring->known = false;
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
