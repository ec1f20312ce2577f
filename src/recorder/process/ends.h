/* Which processes have ended. There may be thousands, of which none ends in most turns of the main loop: so the kernel keeps the list of those whose
 * end is waited for. */
#ifndef ADA_RECORDER_ENDS_H
#define ADA_RECORDER_ENDS_H

struct ada_provider;

/* `ends`: of epoll; readable while there is one to be noted. Where that can't be had the provider is `unwatched`: its end is to be asked for. */
void ada_ends_watch(int ends, struct ada_provider *provider);
void ada_ends_note(int ends); /* each once */
#endif
