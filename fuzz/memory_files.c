/* See memory.h. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "memory.h"

#define FILES_MAX 8
#define HANDLES_MAX 64
#define NULL_FD (FUZZ_FD + HANDLES_MAX)

struct file {
	const char *path;
	uint8_t *bytes;
	size_t size;
};
static struct file files[FILES_MAX];
static struct handle {
	struct file *file;
	const char *directory;
	size_t at;
	bool used;
	struct dirent64 entry;
} handles[HANDLES_MAX];
static const char *directory_put;
static ADA_ARRAY(char *) made;				 /* directories */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* sessions are opened by several threads */

/* --- Files -------------------------------------------------------------------------------------------------------------- */

static struct file *file_of(const char *path)
{
	for (struct file *file = files; file < files + FILES_MAX && file->path; file++)
		if (!strcmp(file->path, path))
			return file;
	return NULL;
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && path[length] == '/';
}

static bool is_ours(const char *path)
{
	return is_below(path, FUZZ_MEMORY) || (directory_put && is_below(path, directory_put)) || file_of(path);
}

void fuzz_directory_put(const char *path)
{
	assert(!directory_put);
	directory_put = path;
}

/* The name, in `directory`, of what leads to the file; NULL: it lies elsewhere. */
static const char *name_in(const char *directory, const struct file *file)
{
	return is_below(file->path, directory) ? file->path + strlen(directory) + 1 : NULL;
}

static const char *directory_of(const char *path)
{
	for (struct file *file = files; file < files + FILES_MAX && file->path; file++)
		if (name_in(path, file))
			return path;
	return NULL;
}

static void resize(struct file *file, size_t size)
{
	size_t end = (size > file->size ? size : file->size) / 8 * 8 + 8;

	ASAN_UNPOISON_MEMORY_REGION(file->bytes, end);
	if (size > file->size)
		memset(file->bytes + file->size, 0, size - file->size);
	ASAN_POISON_MEMORY_REGION(file->bytes + size, end - size);
	file->size = size;
}

void fuzz_file_put(const char *path, const void *bytes, size_t length)
{
	struct file *file = file_of(path);

	assert(length <= FUZZ_FILE_BYTES_MAX);
	if (!file) {
		for (file = files; file->path; file++)
			assert(file + 1 < files + FILES_MAX);
		file->path = path;
		file->bytes = mmap(NULL, FUZZ_FILE_BYTES_MAX + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert(file->bytes != MAP_FAILED);
		ASAN_POISON_MEMORY_REGION(file->bytes, FUZZ_FILE_BYTES_MAX + 4096);
	}
	resize(file, length);
	if (length)
		memcpy(file->bytes, bytes, length);
}

static struct file *mapped_at(const void *address)
{
	for (struct file *file = files; file < files + FILES_MAX && file->path; file++)
		if ((uintptr_t)address - (uintptr_t)file->bytes < FUZZ_FILE_BYTES_MAX)
			return file;
	return NULL;
}

/* --- Descriptors -------------------------------------------------------------------------------------------------------- */

static struct handle *handle_of(int fd)
{
	if (fd < FUZZ_FD || fd >= NULL_FD)
		return NULL;
	assert(handles[fd - FUZZ_FD].used);
	return &handles[fd - FUZZ_FD];
}

int fuzz_null(void)
{
	return NULL_FD;
}

const uint8_t *fuzz_file_bytes(int fd, size_t *length)
{
	struct handle *handle = handle_of(fd);

	if (!handle || !handle->file)
		return NULL;
	*length = handle->file->size;
	return handle->file->bytes;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static int open_ours(const char *path, int flags)
{
	struct file *file = file_of(path);
	const char *directory = file ? NULL : directory_of(path);

	if (!file && !directory)
		return flags & O_CREAT ? NULL_FD : fail(ENOENT);
	if (file && flags & O_DIRECTORY)
		return fail(ENOTDIR);
	if (flags & O_EXCL)
		return fail(EEXIST);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < HANDLES_MAX; i++)
		if (!handles[i].used) {
			handles[i] = (struct handle){ .file = file, .directory = directory ? strdup(path) : NULL, .used = true };
			pthread_mutex_unlock(&lock);
			return FUZZ_FD + i;
		}
	abort(); /* somebody forgets to close */
}

static size_t take(struct handle *handle, void *bytes, size_t length, size_t at)
{
	size_t left = at < handle->file->size ? handle->file->size - at : 0;

	length = length < left ? length : left;
	memcpy(bytes, handle->file->bytes + at, length);
	return length;
}

static int describe(const struct file *file, bool directory, struct stat64 *found)
{
	static uid_t user = (uid_t)-1;

	if (user == (uid_t)-1)
		user = getuid();
	*found = (struct stat64){ .st_mode = directory ? S_IFDIR | 0700 : S_IFREG | 0600,
				  .st_nlink = 1,
				  .st_uid = user,
				  .st_ino = file ? (ino64_t)(file - files) + 1 : 100,
				  .st_size = file ? (off_t)file->size : 4096 };
	return 0;
}

/* The next entry of a directory: each name once. */
static struct dirent64 *next_entry(struct handle *handle)
{
	for (; handle->at < FILES_MAX && files[handle->at].path; handle->at++) {
		const char *name = name_in(handle->directory, &files[handle->at]), *other;
		size_t length = name ? strcspn(name, "/") : 0;
		bool first = name;

		for (size_t i = 0; first && i < handle->at; i++)
			first = !(other = name_in(handle->directory, &files[i])) || strcspn(other, "/") != length ||
				memcmp(other, name, length);
		if (!first)
			continue;
		handle->entry = (struct dirent64){ .d_ino = handle->at + 1,
						   .d_off = (off64_t)handle->at + 1,
						   .d_reclen = sizeof handle->entry,
						   .d_type = name[length] ? DT_DIR : DT_REG };
		memcpy(handle->entry.d_name, name, length);
		handle->at++;
		return &handle->entry;
	}
	return NULL;
}

/* --- In place of libc's ------------------------------------------------------------------------------------------------- */

#define WRAP(type, name, parameters)                                                                                                       \
	type __real_##name parameters;                                                                                                     \
	type __wrap_##name parameters;                                                                                                     \
	type __wrap_##name parameters

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	if (is_ours(path))
		return (flags & O_TMPFILE) == O_TMPFILE ? memfd_create("temporary", MFD_CLOEXEC) : open_ours(path, flags);
	va_start(arguments, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return __real_open64(path, flags, mode);
}

WRAP(int, close, (int fd))
{
	struct handle *handle = handle_of(fd);

	if (fd == NULL_FD || fuzz_socket_close(fd))
		return 0;
	if (!handle)
		return __real_close(fd);
	pthread_mutex_lock(&lock);
	free((void *)handle->directory);
	handle->used = false;
	pthread_mutex_unlock(&lock);
	return 0;
}

WRAP(int, fstat64, (int fd, struct stat64 *found))
{
	struct handle *handle = handle_of(fd);

	return fd == NULL_FD ? describe(NULL, false, found) :
	       handle	     ? describe(handle->file, handle->directory, found) :
			       __real_fstat64(fd, found);
}

WRAP(int, stat64, (const char *path, struct stat64 *found))
{
	struct file *file = file_of(path);

	if (!is_ours(path))
		return __real_stat64(path, found);
	return file || directory_of(path) ? describe(file, !file, found) : fail(ENOENT);
}

WRAP(int, access, (const char *path, int mode))
{
	if (!is_ours(path))
		return __real_access(path, mode);
	return file_of(path) || directory_of(path) ? 0 : fail(ENOENT);
}

WRAP(char *, realpath, (const char *path, char *resolved))
{
	return is_ours(path) ? strcpy(resolved ? resolved : malloc(strlen(path) + 1), path) : __real_realpath(path, resolved);
}

WRAP(ssize_t, readlink, (const char *path, char *target, size_t size))
{
	struct file *file = file_of(path);

	if (!is_ours(path))
		return __real_readlink(path, target, size);
	if (!file)
		return fail(ENOENT);
	size = file->size < size ? file->size : size;
	memcpy(target, file->bytes, size);
	return (ssize_t)size;
}

WRAP(ssize_t, pread64, (int fd, void *bytes, size_t length, off64_t at))
{
	struct handle *handle = handle_of(fd);

	return handle ? (ssize_t)take(handle, bytes, length, (size_t)at) : __real_pread64(fd, bytes, length, at);
}

WRAP(ssize_t, read, (int fd, void *bytes, size_t length))
{
	struct handle *handle = handle_of(fd);

	if (!handle)
		return __real_read(fd, bytes, length);
	length = take(handle, bytes, length, handle->at);
	handle->at += length;
	return (ssize_t)length;
}

WRAP(ssize_t, write, (int fd, const void *bytes, size_t length))
{
	return fd == NULL_FD ? (ssize_t)length : __real_write(fd, bytes, length);
}

WRAP(ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off64_t at))
{
	struct handle *handle = handle_of(fd);

	if (fd == NULL_FD)
		return (ssize_t)length;
	if (!handle)
		return __real_pwrite64(fd, bytes, length, at);
	if ((size_t)at > FUZZ_FILE_BYTES_MAX || length > FUZZ_FILE_BYTES_MAX - (size_t)at)
		return fail(EFBIG);
	if ((size_t)at + length > handle->file->size)
		resize(handle->file, (size_t)at + length);
	memcpy(handle->file->bytes + at, bytes, length);
	return (ssize_t)length;
}

WRAP(int, ftruncate64, (int fd, off64_t size))
{
	struct handle *handle = handle_of(fd);

	if (fd == NULL_FD)
		return 0;
	if (!handle)
		return __real_ftruncate64(fd, size);
	if (size < 0 || size > FUZZ_FILE_BYTES_MAX)
		return fail(EFBIG);
	resize(handle->file, (size_t)size);
	return 0;
}

WRAP(int, fsync, (int fd))
{
	return fd >= FUZZ_FD ? 0 : __real_fsync(fd);
}

WRAP(int, flock, (int fd, int operation))
{
	return fd >= FUZZ_FD ? 0 : __real_flock(fd, operation);
}

WRAP(void *, mmap64, (void *address, size_t length, int protection, int flags, int fd, off64_t at))
{
	struct handle *handle = flags & MAP_ANONYMOUS ? NULL : handle_of(fd);

	if (!handle)
		return __real_mmap64(address, length, protection, flags, fd, at);
	assert(protection == PROT_READ && !at && !(flags & MAP_FIXED) && length <= handle->file->size);
	return handle->file->bytes;
}

WRAP(int, munmap, (void *address, size_t length))
{
	return mapped_at(address) ? 0 : __real_munmap(address, length);
}

/* Memory that is touched later comes then. */
WRAP(int, madvise, (void *address, size_t length, int advice))
{
	return mapped_at(address) || advice == MADV_POPULATE_WRITE ? 0 : __real_madvise(address, length, advice);
}

WRAP(int, fallocate64, (int fd, int mode, off64_t at, off64_t length))
{
	return 0;
}

WRAP(DIR *, opendir, (const char *path))
{
	int fd;

	if (!is_ours(path))
		return __real_opendir(path);
	fd = open_ours(path, O_DIRECTORY);
	return fd < 0 ? NULL : (DIR *)&handles[fd - FUZZ_FD];
}

static struct handle *handle_of_directory(DIR *directory)
{
	struct handle *handle = (struct handle *)directory;

	return handle >= handles && handle < handles + HANDLES_MAX ? handle : NULL;
}

WRAP(struct dirent64 *, readdir64, (DIR * directory))
{
	struct handle *handle = handle_of_directory(directory);

	return handle ? next_entry(handle) : __real_readdir64(directory);
}

WRAP(int, closedir, (DIR * directory))
{
	struct handle *handle = handle_of_directory(directory);

	return handle ? __wrap_close(FUZZ_FD + (int)(handle - handles)) : __real_closedir(directory);
}

/* libc's own would open the directory behind our back. */
WRAP(int, scandir64,
     (const char *path, struct dirent64 ***list, int (*wanted)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)))
{
	struct dirent64 *entry, **found;
	int fd, count = 0;

	if (!is_ours(path))
		return __real_scandir64(path, list, wanted, compare);
	fd = open_ours(path, O_DIRECTORY);
	if (fd < 0)
		return -1;
	found = malloc(FILES_MAX * sizeof *found);
	while ((entry = next_entry(handle_of(fd))))
		if (!wanted || wanted(entry)) {
			found[count] = malloc(sizeof *entry);
			*found[count++] = *entry;
		}
	__wrap_close(fd);
	if (compare)
		qsort(found, (size_t)count, sizeof *found, (int (*)(const void *, const void *))compare);
	*list = found;
	return count;
}

WRAP(ssize_t, getdents64, (int fd, void *bytes, size_t length))
{
	struct handle *handle = handle_of(fd);
	struct dirent64 *entry;
	size_t filled = 0;

	if (!handle)
		return __real_getdents64(fd, bytes, length);
	while (filled + sizeof *entry <= length && (entry = next_entry(handle))) {
		memcpy((char *)bytes + filled, entry, sizeof *entry);
		filled += sizeof *entry;
	}
	return (ssize_t)filled;
}

WRAP(int, mkdir, (const char *path, mode_t mode))
{
	if (!is_ours(path))
		return __real_mkdir(path, mode);
	for (size_t i = 0; i < made.count; i++)
		if (!strcmp(made.items[i], path))
			return fail(EEXIST);
	return ada_array_push(&made, strdup(path)) ? fail(ENOMEM) : 0;
}

void fuzz_directories_forget(void)
{
	for (size_t i = 0; i < made.count; i++)
		free(made.items[i]);
	made.count = 0;
}

WRAP(int, link, (const char *from, const char *to))
{
	return is_ours(to) ? 0 : __real_link(from, to);
}

WRAP(int, unlink, (const char *path))
{
	return is_ours(path) ? 0 : __real_unlink(path);
}
