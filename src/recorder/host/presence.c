#include "recorder/host/presence.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *hold(void *argument)
{
	struct ada_presence_held *presence = argument;
	struct ada_presence *page = presence->page;
	struct pollfd quit = { .fd = presence->quit, .events = POLLIN };

	presence->list.list.next = &presence->entry;
	presence->list.futex_offset = (char *)&page->owner - (char *)&presence->entry;
	presence->entry.next = &presence->list.list;
	/* Takes the place of libc's list: this thread uses no mutex. Under a kernel without robust lists the beats remain, which end as
	 * well. */
	syscall(SYS_set_robust_list, &presence->list, sizeof presence->list);
	__atomic_store_n(&page->owner, (uint32_t)gettid(), __ATOMIC_RELEASE);
	sem_post(&presence->held);
	while (poll(&quit, 1, ADA_PRESENCE_BEAT_MS) <= 0)
		__atomic_fetch_add(&page->beats, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&page->owner, 0, __ATOMIC_RELEASE);
	return NULL;
}

/* The only mapping that may write is made before the seal. */
static int make_page(struct ada_presence_held *presence)
{
	void *page;

	presence->fd = memfd_create("ada-presence", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (presence->fd < 0 || ftruncate(presence->fd, ADA_PRESENCE_BYTES))
		return -errno;
	page = mmap(NULL, ADA_PRESENCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, presence->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	presence->page = page;
	presence->page->recorder_pid = (uint32_t)getpid();
	return fcntl(presence->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) ? -errno : 0;
}

int ada_presence_open(struct ada_presence_held *presence, struct ada_error *error)
{
	int status;

	*presence = (struct ada_presence_held){ .fd = -1, .quit = eventfd(0, EFD_CLOEXEC) };
	status = presence->quit < 0 ? -errno : make_page(presence);
	if (!status && !sem_init(&presence->held, 0, 0))
		status = -pthread_create(&presence->thread, NULL, hold, presence);
	if (status)
		return ada_error_system(error, -status, "ada can't start");
	presence->running = true;
	while (sem_wait(&presence->held) && errno == EINTR)
		;
	return 0;
}

void ada_presence_close(struct ada_presence_held *presence)
{
	if (presence->running) {
		eventfd_write(presence->quit, 1);
		pthread_join(presence->thread, NULL);
		sem_destroy(&presence->held);
	}
	if (presence->page)
		munmap(presence->page, ADA_PRESENCE_BYTES);
	if (presence->fd >= 0)
		close(presence->fd);
	if (presence->quit >= 0)
		close(presence->quit);
	*presence = (struct ada_presence_held){ .fd = -1, .quit = -1 };
}
