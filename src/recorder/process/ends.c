#include "recorder/process/ends.h"
#include <sys/epoll.h>
#include "recorder/state/provider.h"

#define AT_ONCE 64

void ada_ends_watch(int ends, struct ada_provider *provider)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = provider };

	provider->unwatched = provider->pidfd < 0 || epoll_ctl(ends, EPOLL_CTL_ADD, provider->pidfd, &event);
}

void ada_ends_note(int ends)
{
	struct epoll_event events[AT_ONCE];
	int count;

	do {
		count = epoll_wait(ends, events, AT_ONCE, 0);
		for (int i = 0; i < count; i++) {
			struct ada_provider *provider = events[i].data.ptr;

			if (!provider->ended && !__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
				ada_provider_note_gone(provider);
		}
	} while (count == AT_ONCE);
}
