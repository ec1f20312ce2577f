/* See prototypes.h. */
#include "trigger/prototypes.h"
#include <stdlib.h>
#include <string.h>

const struct ada_prototype ada_prototypes[] = {
	{"abort", "v"}, {"abs", "ii"}, {"accept", "iipp"}, {"accept4", "iippi"}, {"access", "ipi"}, {"alarm", "uu"},
	{"aligned_alloc", "pzz"}, {"atof", "dp"}, {"atoi", "ip"}, {"atol", "lp"}, {"atoll", "lp"}, {"bcmp", "ippz"},
	{"bind", "iipu"}, {"brk", "ip"}, {"bsearch", "pppzzp"}, {"calloc", "pzz"}, {"chdir", "ip"}, {"chmod", "ipu"},
	{"chown", "ipuu"}, {"clearerr", "vp"}, {"clock", "l"}, {"clock_gettime", "iip"}, {"clock_nanosleep", "iiipp"},
	{"clone", "ippip"}, {"close", "ii"}, {"closedir", "ip"}, {"closelog", "v"}, {"connect", "iipu"},
	{"copy_file_range", "lipipzu"}, {"cos", "dd"}, {"creat", "ipu"}, {"ctime", "pp"}, {"daemon", "iii"},
	{"difftime", "dll"}, {"dlclose", "ip"}, {"dlerror", "p"}, {"dlopen", "ppi"}, {"dlsym", "ppp"}, {"dprintf", "iip."},
	{"dup", "ii"}, {"dup2", "iii"}, {"dup3", "iiii"}, {"epoll_create", "ii"}, {"epoll_create1", "ii"},
	{"epoll_ctl", "iiiip"}, {"epoll_wait", "iipii"}, {"eventfd", "iui"}, {"execl", "ipp."}, {"execv", "ipp"},
	{"execve", "ippp"}, {"execvp", "ipp"}, {"exit", "vi"}, {"exp", "dd"}, {"fabs", "dd"}, {"faccessat", "iipii"},
	{"fallocate", "iiill"}, {"fchdir", "ii"}, {"fchmod", "iiu"}, {"fchown", "iiuu"}, {"fclose", "ip"}, {"fcntl", "iii."},
	{"fdatasync", "ii"}, {"fdopen", "pip"}, {"feof", "ip"}, {"ferror", "ip"}, {"fflush", "ip"}, {"fgetc", "ip"},
	{"fgets", "ppip"}, {"fileno", "ip"}, {"flock", "iii"}, {"floor", "dd"}, {"fmod", "ddd"}, {"fopen", "ppp"},
	{"fork", "i"}, {"fprintf", "ipp."}, {"fputc", "iip"}, {"fputs", "ipp"}, {"fread", "zpzzp"}, {"free", "vp"},
	{"freeaddrinfo", "vp"}, {"freopen", "pppp"}, {"fseek", "ipli"}, {"fseeko", "ipli"}, {"fstat", "iip"},
	{"fstatat", "iippi"}, {"fsync", "ii"}, {"ftell", "lp"}, {"ftello", "lp"}, {"ftruncate", "iil"}, {"fwrite", "zpzzp"},
	{"getaddrinfo", "ipppp"}, {"getc", "ip"}, {"getchar", "i"}, {"getcwd", "ppz"}, {"getdelim", "lppip"},
	{"getegid", "u"}, {"getenv", "pp"}, {"geteuid", "u"}, {"getgid", "u"}, {"getgrgid", "pu"}, {"getgrnam", "pp"},
	{"gethostbyname", "pp"}, {"gethostname", "ipz"}, {"getline", "lppp"}, {"getopt", "iipp"}, {"getpagesize", "i"},
	{"getpeername", "iipp"}, {"getpgid", "ii"}, {"getpid", "i"}, {"getppid", "i"}, {"getpriority", "iiu"},
	{"getpwnam", "pp"}, {"getpwuid", "pu"}, {"getrandom", "lpzu"}, {"getrlimit", "iip"}, {"getrusage", "iip"},
	{"getsockname", "iipp"}, {"getsockopt", "iiiipp"}, {"gettid", "i"}, {"gettimeofday", "ipp"}, {"getuid", "u"},
	{"gmtime", "pp"}, {"gmtime_r", "ppp"}, {"htonl", "uu"}, {"htons", "HH"}, {"inet_ntop", "pippu"},
	{"inet_pton", "iipp"}, {"inotify_add_watch", "iipu"}, {"inotify_init", "i"}, {"ioctl", "iiz."}, {"isalnum", "ii"},
	{"isalpha", "ii"}, {"isatty", "ii"}, {"isdigit", "ii"}, {"islower", "ii"}, {"isspace", "ii"}, {"isupper", "ii"},
	{"kill", "iii"}, {"labs", "ll"}, {"link", "ipp"}, {"listen", "iii"}, {"localtime", "pp"}, {"localtime_r", "ppp"},
	{"log", "dd"}, {"lseek", "lili"}, {"lstat", "ipp"}, {"madvise", "ipzi"}, {"malloc", "pz"},
	{"malloc_usable_size", "zp"}, {"mbstowcs", "zppz"}, {"memalign", "pzz"}, {"memchr", "ppiz"}, {"memcmp", "ippz"},
	{"memcpy", "pppz"}, {"memfd_create", "ipu"}, {"memmem", "ppzpz"}, {"memmove", "pppz"}, {"memset", "ppiz"},
	{"mkdir", "ipu"}, {"mkdtemp", "pp"}, {"mkfifo", "ipu"}, {"mknod", "ipuz"}, {"mkstemp", "ip"}, {"mktime", "lp"},
	{"mlock", "ipz"}, {"mmap", "ppziiil"}, {"mount", "ipppzp"}, {"mprotect", "ipzi"}, {"mremap", "ppzzi."},
	{"msync", "ipzi"}, {"munlock", "ipz"}, {"munmap", "ipz"}, {"nanosleep", "ipp"}, {"ntohl", "uu"}, {"ntohs", "HH"},
	{"open", "ipi."}, {"openat", "iipi."}, {"opendir", "pp"}, {"openlog", "vpii"}, {"pause", "i"}, {"pclose", "ip"},
	{"perror", "vp"}, {"pipe", "ip"}, {"pipe2", "ipi"}, {"poll", "ipzi"}, {"popen", "ppp"}, {"posix_fadvise", "iilli"},
	{"posix_fallocate", "iill"}, {"posix_memalign", "ipzz"}, {"posix_spawn", "ipppppp"}, {"posix_spawnp", "ipppppp"},
	{"pow", "ddd"}, {"ppoll", "ipzpp"}, {"prctl", "ii."}, {"pread", "lipzl"}, {"preadv", "lipil"}, {"printf", "ip."},
	{"prlimit", "iiipp"}, {"pselect", "iippppp"}, {"pthread_cond_broadcast", "ip"}, {"pthread_cond_signal", "ip"},
	{"pthread_cond_timedwait", "ippp"}, {"pthread_cond_wait", "ipp"}, {"pthread_create", "ipppp"},
	{"pthread_detach", "iz"}, {"pthread_join", "izp"}, {"pthread_kill", "izi"}, {"pthread_mutex_destroy", "ip"},
	{"pthread_mutex_init", "ipp"}, {"pthread_mutex_lock", "ip"}, {"pthread_mutex_timedlock", "ipp"},
	{"pthread_mutex_trylock", "ip"}, {"pthread_mutex_unlock", "ip"}, {"pthread_once", "ipp"},
	{"pthread_rwlock_rdlock", "ip"}, {"pthread_rwlock_unlock", "ip"}, {"pthread_rwlock_wrlock", "ip"},
	{"pthread_self", "z"}, {"putc", "iip"}, {"putchar", "ii"}, {"putenv", "ip"}, {"puts", "ip"}, {"pwrite", "lipzl"},
	{"pwritev", "lipil"}, {"qsort", "vpzzp"}, {"raise", "ii"}, {"rand", "i"}, {"random", "l"}, {"read", "lipz"},
	{"readdir", "pp"}, {"readlink", "lppz"}, {"readlinkat", "lippz"}, {"readv", "lipi"}, {"realloc", "ppz"},
	{"reallocarray", "ppzz"}, {"realpath", "ppp"}, {"recv", "lipzi"}, {"recvfrom", "lipzipp"}, {"recvmsg", "lipi"},
	{"remove", "ip"}, {"rename", "ipp"}, {"renameat", "iipip"}, {"rewind", "vp"}, {"rmdir", "ip"}, {"sbrk", "pl"},
	{"scanf", "ip."}, {"sched_yield", "i"}, {"select", "iipppp"}, {"sem_destroy", "ip"}, {"sem_init", "ipiu"},
	{"sem_open", "ppi."}, {"sem_post", "ip"}, {"sem_timedwait", "ipp"}, {"sem_trywait", "ip"}, {"sem_wait", "ip"},
	{"send", "lipzi"}, {"sendfile", "liipz"}, {"sendmsg", "lipi"}, {"sendto", "lipzipu"}, {"setenv", "ippi"},
	{"setgid", "iu"}, {"setlocale", "pip"}, {"setpgid", "iii"}, {"setpriority", "iiui"}, {"setrlimit", "iip"},
	{"setsid", "i"}, {"setsockopt", "iiiipu"}, {"setuid", "iu"}, {"setvbuf", "ippiz"}, {"shm_open", "ipiu"},
	{"shm_unlink", "ip"}, {"shmat", "pipi"}, {"shmget", "iizi"}, {"shutdown", "iii"}, {"sigaction", "iipp"},
	{"sigaddset", "ipi"}, {"sigemptyset", "ip"}, {"signal", "pip"}, {"signalfd", "iipi"}, {"sigprocmask", "iipp"},
	{"sigwait", "ipp"}, {"sin", "dd"}, {"sleep", "uu"}, {"snprintf", "ipzp."}, {"socket", "iiii"},
	{"socketpair", "iiiip"}, {"splice", "lipipzu"}, {"sprintf", "ipp."}, {"sqrt", "dd"}, {"srand", "vu"},
	{"sscanf", "ipp."}, {"stat", "ipp"}, {"statvfs", "ipp"}, {"stpcpy", "ppp"}, {"strcasecmp", "ipp"}, {"strcat", "ppp"},
	{"strchr", "ppi"}, {"strcmp", "ipp"}, {"strcoll", "ipp"}, {"strcpy", "ppp"}, {"strcspn", "zpp"}, {"strdup", "pp"},
	{"strerror", "pi"}, {"strftime", "zpzpp"}, {"strlen", "zp"}, {"strncasecmp", "ippz"}, {"strncat", "pppz"},
	{"strncmp", "ippz"}, {"strncpy", "pppz"}, {"strndup", "ppz"}, {"strnlen", "zpz"}, {"strpbrk", "ppp"},
	{"strrchr", "ppi"}, {"strsep", "ppp"}, {"strspn", "zpp"}, {"strstr", "ppp"}, {"strtod", "dpp"}, {"strtof", "fpp"},
	{"strtok", "ppp"}, {"strtok_r", "pppp"}, {"strtol", "lppi"}, {"strtoll", "lppi"}, {"strtoul", "zppi"},
	{"strtoull", "zppi"}, {"symlink", "ipp"}, {"sync", "v"}, {"syscall", "ll."}, {"sysconf", "li"}, {"syslog", "vip."},
	{"system", "ip"}, {"time", "lp"}, {"timer_create", "iipp"}, {"timerfd_create", "iii"}, {"timerfd_settime", "iiipp"},
	{"tmpfile", "p"}, {"tolower", "ii"}, {"toupper", "ii"}, {"truncate", "ipl"}, {"umask", "uu"}, {"umount", "ip"},
	{"uname", "ip"}, {"ungetc", "iip"}, {"unlink", "ip"}, {"unlinkat", "iipi"}, {"unsetenv", "ip"}, {"usleep", "iu"},
	{"utime", "ipp"}, {"vfork", "i"}, {"vfprintf", "ippp"}, {"vprintf", "ipp"}, {"vsnprintf", "ipzpp"}, {"wait", "ip"},
	{"wait4", "iipip"}, {"waitid", "iiupi"}, {"waitpid", "iipi"}, {"wcslen", "zp"}, {"wcstombs", "zppz"},
	{"write", "lipz"}, {"writev", "lipi"},
};
const size_t ada_prototype_count = sizeof ada_prototypes / sizeof *ada_prototypes;

static int compare(const void *name, const void *prototype)
{
	return strcmp(name, ((const struct ada_prototype *)prototype)->name);
}

const struct ada_prototype *ada_prototype_find(const char *name)
{
	size_t length = strcspn(name, "@");
	char plain[32];

	if (length >= sizeof plain)
		return NULL;
	memcpy(plain, name, length);
	plain[length] = '\0';
	for (;;) {
		const struct ada_prototype *found =
			bsearch(plain, ada_prototypes, ada_prototype_count, sizeof *ada_prototypes, compare);

		if (found || length < 3 || strcmp(plain + length - 2, "64") != 0)
			return found;
		plain[length -= 2] = '\0';
	}
}
