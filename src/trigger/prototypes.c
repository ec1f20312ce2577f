/* See prototypes.h. */
#include "trigger/prototypes.h"
#include <stdlib.h>
#include <string.h>

const struct ada_prototype ada_prototypes[] = {
	{"abort", "v", ""}, {"abs", "ii", "n"}, {"accept", "iipp", "fd address length"},
	{"accept4", "iippi", "fd address length flags"}, {"access", "isi", "path mode"}, {"alarm", "uu", "seconds"},
	{"aligned_alloc", "pzz", "alignment size"}, {"atof", "ds", "text"}, {"atoi", "is", "text"}, {"atol", "ls", "text"},
	{"atoll", "ls", "text"}, {"bcmp", "ippz", "a b n"}, {"bind", "iipu", "fd address length"}, {"brk", "ip", "address"},
	{"bsearch", "pppzzp", "key base count size compare"}, {"calloc", "pzz", "count size"}, {"chdir", "is", "path"},
	{"chmod", "isu", "path mode"}, {"chown", "isuu", "path owner group"}, {"clearerr", "vp", ""}, {"clock", "l", ""},
	{"clock_gettime", "iip", "clock time"}, {"clock_nanosleep", "iiipp", "clock flags request remain"},
	{"clone", "ippip", ""}, {"close", "ii", "fd"}, {"closedir", "ip", "dir"}, {"closelog", "v", ""},
	{"connect", "iipu", "fd address length"}, {"copy_file_range", "lipipzu", "in in_offset out out_offset length flags"},
	{"cos", "dd", "x"}, {"creat", "isu", "path mode"}, {"ctime", "sp", ""}, {"daemon", "iii", ""}, {"difftime", "dll", ""},
	{"dlclose", "ip", "handle"}, {"dlerror", "s", ""}, {"dlopen", "psi", "path flags"}, {"dlsym", "pps", "handle name"},
	{"dprintf", "iis.", "fd format"}, {"dup", "ii", "fd"}, {"dup2", "iii", "fd to"}, {"dup3", "iiii", "fd to flags"},
	{"epoll_create", "ii", "size"}, {"epoll_create1", "ii", "flags"}, {"epoll_ctl", "iiiip", "epoll operation fd event"},
	{"epoll_wait", "iipii", "epoll events max timeout"}, {"eventfd", "iui", "initial flags"},
	{"execl", "iss.", "path arg"}, {"execv", "isp", "path argv"}, {"execve", "ispp", "path argv envp"},
	{"execvp", "isp", "file argv"}, {"exit", "vi", "status"}, {"exp", "dd", "x"}, {"fabs", "dd", "x"},
	{"faccessat", "iisii", "dir path mode flags"}, {"fallocate", "iiill", "fd mode offset length"}, {"fchdir", "ii", "fd"},
	{"fchmod", "iiu", "fd mode"}, {"fchown", "iiuu", "fd owner group"}, {"fclose", "ip", "file"},
	{"fcntl", "iii.", "fd command"}, {"fdatasync", "ii", "fd"}, {"fdopen", "pis", "fd mode"}, {"feof", "ip", "file"},
	{"ferror", "ip", "file"}, {"fflush", "ip", "file"}, {"fgetc", "ip", "file"}, {"fgets", "ppip", "buffer size file"},
	{"fileno", "ip", "file"}, {"flock", "iii", "fd operation"}, {"floor", "dd", "x"}, {"fmod", "ddd", "x y"},
	{"fopen", "pss", "path mode"}, {"fork", "i", ""}, {"fprintf", "ips.", "file format"}, {"fputc", "iip", "c file"},
	{"fputs", "isp", "text file"}, {"fread", "zpzzp", "buffer size count file"}, {"free", "vp", "pointer"},
	{"freeaddrinfo", "vp", "list"}, {"freopen", "pssp", "path mode file"}, {"fseek", "ipli", "file offset whence"},
	{"fseeko", "ipli", "file offset whence"}, {"fstat", "iip", "fd stat"}, {"fstatat", "iispi", "dir path stat flags"},
	{"fsync", "ii", "fd"}, {"ftell", "lp", "file"}, {"ftello", "lp", "file"}, {"ftruncate", "iil", "fd length"},
	{"fwrite", "zpzzp", "buffer size count file"}, {"getaddrinfo", "isspp", "node service hints list"},
	{"getc", "ip", "file"}, {"getchar", "i", ""}, {"getcwd", "ppz", "buffer size"},
	{"getdelim", "lppip", "line size delimiter file"}, {"getegid", "u", ""}, {"getenv", "ss", "name"},
	{"geteuid", "u", ""}, {"getgid", "u", ""}, {"getgrgid", "pu", "gid"}, {"getgrnam", "ps", "name"},
	{"gethostbyname", "ps", "name"}, {"gethostname", "ipz", "name length"}, {"getline", "lppp", "line size file"},
	{"getopt", "iipp", ""}, {"getpagesize", "i", ""}, {"getpeername", "iipp", "fd address length"},
	{"getpgid", "ii", "pid"}, {"getpid", "i", ""}, {"getppid", "i", ""}, {"getpriority", "iiu", "which who"},
	{"getpwnam", "ps", "name"}, {"getpwuid", "pu", "uid"}, {"getrandom", "lpzu", "buffer length flags"},
	{"getrlimit", "iip", "resource limit"}, {"getrusage", "iip", "who usage"},
	{"getsockname", "iipp", "fd address length"}, {"getsockopt", "iiiipp", "fd level option value length"},
	{"gettid", "i", ""}, {"gettimeofday", "ipp", "time zone"}, {"getuid", "u", ""}, {"gmtime", "pp", ""},
	{"gmtime_r", "ppp", ""}, {"htonl", "uu", "n"}, {"htons", "HH", "n"},
	{"inet_ntop", "pippu", "family address text size"}, {"inet_pton", "iisp", "family text address"},
	{"inotify_add_watch", "iisu", "fd path mask"}, {"inotify_init", "i", ""}, {"ioctl", "iiz.", "fd request"},
	{"isalnum", "ii", "c"}, {"isalpha", "ii", "c"}, {"isatty", "ii", "fd"}, {"isdigit", "ii", "c"}, {"islower", "ii", "c"},
	{"isspace", "ii", "c"}, {"isupper", "ii", "c"}, {"kill", "iii", "pid signal"}, {"labs", "ll", "n"},
	{"link", "iss", "old new"}, {"listen", "iii", "fd backlog"}, {"localtime", "pp", ""}, {"localtime_r", "ppp", ""},
	{"log", "dd", "x"}, {"lseek", "lili", "fd offset whence"}, {"lstat", "isp", "path stat"},
	{"madvise", "ipzi", "address length advice"}, {"malloc", "pz", "size"}, {"malloc_usable_size", "zp", "pointer"},
	{"mbstowcs", "zppz", ""}, {"memalign", "pzz", "alignment size"}, {"memchr", "ppiz", "s c n"},
	{"memcmp", "ippz", "a b n"}, {"memcpy", "pppz", "to from n"}, {"memfd_create", "isu", "name flags"},
	{"memmem", "ppzpz", "haystack length needle needle_length"}, {"memmove", "pppz", "to from n"},
	{"memset", "ppiz", "s c n"}, {"mkdir", "isu", "path mode"}, {"mkdtemp", "ps", "template"},
	{"mkfifo", "isu", "path mode"}, {"mknod", "isuz", "path mode device"}, {"mkstemp", "is", "template"},
	{"mktime", "lp", ""}, {"mlock", "ipz", "address length"},
	{"mmap", "ppziiil", "address length protection flags fd offset"}, {"mount", "issszp", "source target type flags data"},
	{"mprotect", "ipzi", "address length protection"}, {"mremap", "ppzzi.", "address old_size new_size flags"},
	{"msync", "ipzi", "address length flags"}, {"munlock", "ipz", "address length"}, {"munmap", "ipz", "address length"},
	{"nanosleep", "ipp", "request remain"}, {"ntohl", "uu", "n"}, {"ntohs", "HH", "n"}, {"open", "isi.", "path flags"},
	{"openat", "iisi.", "dir path flags"}, {"opendir", "ps", "path"}, {"openlog", "vpii", ""}, {"pause", "i", ""},
	{"pclose", "ip", "file"}, {"perror", "vs", "text"}, {"pipe", "ip", "fds"}, {"pipe2", "ipi", "fds flags"},
	{"poll", "ipzi", "fds count timeout"}, {"popen", "pss", "command mode"},
	{"posix_fadvise", "iilli", "fd offset length advice"}, {"posix_fallocate", "iill", "fd offset length"},
	{"posix_memalign", "ipzz", "result alignment size"},
	{"posix_spawn", "ipspppp", "pid path actions attributes argv envp"},
	{"posix_spawnp", "ipspppp", "pid file actions attributes argv envp"}, {"pow", "ddd", "x y"},
	{"ppoll", "ipzpp", "fds count timeout mask"}, {"prctl", "ii.", "option"}, {"pread", "lipzl", "fd buffer count offset"},
	{"preadv", "lipil", "fd vectors count offset"}, {"printf", "is.", "format"},
	{"prlimit", "iiipp", "pid resource limit old"}, {"pselect", "iippppp", "count read write except timeout mask"},
	{"pthread_cond_broadcast", "ip", "cond"}, {"pthread_cond_signal", "ip", "cond"},
	{"pthread_cond_timedwait", "ippp", "cond mutex time"}, {"pthread_cond_wait", "ipp", "cond mutex"},
	{"pthread_create", "ipppp", "thread attributes start argument"}, {"pthread_detach", "iz", "thread"},
	{"pthread_join", "izp", "thread result"}, {"pthread_kill", "izi", "thread signal"},
	{"pthread_mutex_destroy", "ip", "mutex"}, {"pthread_mutex_init", "ipp", "mutex attributes"},
	{"pthread_mutex_lock", "ip", "mutex"}, {"pthread_mutex_timedlock", "ipp", "mutex time"},
	{"pthread_mutex_trylock", "ip", "mutex"}, {"pthread_mutex_unlock", "ip", "mutex"},
	{"pthread_once", "ipp", "once routine"}, {"pthread_rwlock_rdlock", "ip", "lock"},
	{"pthread_rwlock_unlock", "ip", "lock"}, {"pthread_rwlock_wrlock", "ip", "lock"}, {"pthread_self", "z", ""},
	{"putc", "iip", "c file"}, {"putchar", "ii", "c"}, {"putenv", "is", "text"}, {"puts", "is", "text"},
	{"pwrite", "lipzl", "fd buffer count offset"}, {"pwritev", "lipil", "fd vectors count offset"},
	{"qsort", "vpzzp", "base count size compare"}, {"raise", "ii", "signal"}, {"rand", "i", ""}, {"random", "l", ""},
	{"read", "lipz", "fd buffer count"}, {"readdir", "pp", "dir"}, {"readlink", "lspz", "path buffer size"},
	{"readlinkat", "lispz", "dir path buffer size"}, {"readv", "lipi", "fd vectors count"},
	{"realloc", "ppz", "pointer size"}, {"reallocarray", "ppzz", "pointer count size"},
	{"realpath", "psp", "path resolved"}, {"recv", "lipzi", "fd buffer length flags"},
	{"recvfrom", "lipzipp", "fd buffer length flags address address_length"}, {"recvmsg", "lipi", "fd message flags"},
	{"remove", "is", "path"}, {"rename", "iss", "old new"}, {"renameat", "iisis", "old_dir old new_dir new"},
	{"rewind", "vp", "file"}, {"rmdir", "is", "path"}, {"sbrk", "pl", "increment"}, {"scanf", "is.", "format"},
	{"sched_yield", "i", ""}, {"select", "iipppp", "count read write except timeout"}, {"sem_destroy", "ip", "sem"},
	{"sem_init", "ipiu", "sem shared value"}, {"sem_open", "psi.", "name flags"}, {"sem_post", "ip", "sem"},
	{"sem_timedwait", "ipp", "sem time"}, {"sem_trywait", "ip", "sem"}, {"sem_wait", "ip", "sem"},
	{"send", "lipzi", "fd buffer length flags"}, {"sendfile", "liipz", "out in offset count"},
	{"sendmsg", "lipi", "fd message flags"}, {"sendto", "lipzipu", "fd buffer length flags address address_length"},
	{"setenv", "issi", "name value overwrite"}, {"setgid", "iu", "gid"}, {"setlocale", "sis", "category locale"},
	{"setpgid", "iii", "pid pgid"}, {"setpriority", "iiui", "which who priority"}, {"setrlimit", "iip", "resource limit"},
	{"setsid", "i", ""}, {"setsockopt", "iiiipu", "fd level option value length"}, {"setuid", "iu", "uid"},
	{"setvbuf", "ippiz", "file buffer mode size"}, {"shm_open", "isiu", "name flags mode"}, {"shm_unlink", "is", "name"},
	{"shmat", "pipi", "id address flags"}, {"shmget", "iizi", "key size flags"}, {"shutdown", "iii", "fd how"},
	{"sigaction", "iipp", "signal action old"}, {"sigaddset", "ipi", "set signal"}, {"sigemptyset", "ip", "set"},
	{"signal", "pip", "signal handler"}, {"signalfd", "iipi", ""}, {"sigprocmask", "iipp", "how set old"},
	{"sigwait", "ipp", "set signal"}, {"sin", "dd", "x"}, {"sleep", "uu", "seconds"},
	{"snprintf", "ipzs.", "buffer size format"}, {"socket", "iiii", "domain type protocol"},
	{"socketpair", "iiiip", "domain type protocol fds"}, {"splice", "lipipzu", "in in_offset out out_offset length flags"},
	{"sprintf", "ips.", "buffer format"}, {"sqrt", "dd", "x"}, {"srand", "vu", "seed"}, {"sscanf", "iss.", "text format"},
	{"stat", "isp", "path stat"}, {"statvfs", "isp", "path stat"}, {"stpcpy", "pps", "to from"},
	{"strcasecmp", "iss", "a b"}, {"strcat", "pps", "to from"}, {"strchr", "psi", "s c"}, {"strcmp", "iss", "a b"},
	{"strcoll", "iss", "a b"}, {"strcpy", "pps", "to from"}, {"strcspn", "zss", "s reject"}, {"strdup", "ps", "s"},
	{"strerror", "si", "error"}, {"strftime", "zpzsp", "buffer size format time"}, {"strlen", "zs", "s"},
	{"strncasecmp", "issz", "a b n"}, {"strncat", "ppsz", "to from n"}, {"strncmp", "issz", "a b n"},
	{"strncpy", "ppsz", "to from n"}, {"strndup", "psz", "s n"}, {"strnlen", "zsz", "s n"}, {"strpbrk", "pss", "s accept"},
	{"strrchr", "psi", "s c"}, {"strsep", "pps", "s delimiters"}, {"strspn", "zss", "s accept"},
	{"strstr", "pss", "haystack needle"}, {"strtod", "dsp", "s end"}, {"strtof", "fsp", "s end"},
	{"strtok", "pss", "s delimiters"}, {"strtok_r", "pssp", "s delimiters save"}, {"strtol", "lspi", "s end base"},
	{"strtoll", "lspi", "s end base"}, {"strtoul", "zspi", "s end base"}, {"strtoull", "zspi", "s end base"},
	{"symlink", "iss", "target path"}, {"sync", "v", ""}, {"syscall", "ll.", "number"}, {"sysconf", "li", "name"},
	{"syslog", "vis.", "priority format"}, {"system", "is", "command"}, {"time", "lp", "result"},
	{"timer_create", "iipp", ""}, {"timerfd_create", "iii", "clock flags"},
	{"timerfd_settime", "iiipp", "fd flags new old"}, {"tmpfile", "p", ""}, {"tolower", "ii", "c"}, {"toupper", "ii", "c"},
	{"truncate", "isl", "path length"}, {"umask", "uu", "mask"}, {"umount", "is", "target"}, {"uname", "ip", "name"},
	{"ungetc", "iip", "c file"}, {"unlink", "is", "path"}, {"unlinkat", "iisi", "dir path flags"},
	{"unsetenv", "is", "name"}, {"usleep", "iu", "us"}, {"utime", "ipp", ""}, {"vfork", "i", ""},
	{"vfprintf", "ipsp", "file format arguments"}, {"vprintf", "isp", "format arguments"},
	{"vsnprintf", "ipzsp", "buffer size format arguments"}, {"wait", "ip", "status"},
	{"wait4", "iipip", "pid status options usage"}, {"waitid", "iiupi", "type id info options"},
	{"waitpid", "iipi", "pid status options"}, {"wcslen", "zp", "s"}, {"wcstombs", "zppz", ""},
	{"write", "lipz", "fd buffer count"}, {"writev", "lipi", "fd vectors count"},
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
