#include "cli/screen/sheet.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/file.h"

int ada_sheet_begin(struct ada_sheet *sheet)
{
	if (!sheet->fd) {
		int fd = memfd_create("ada-sheet", MFD_CLOEXEC);

		if (fd < 0)
			return -errno;
		sheet->fd = fd;
	}
	if (ftruncate(sheet->fd, 0) || lseek(sheet->fd, 0, SEEK_SET) < 0)
		return -errno;
	free(sheet->text);
	sheet->text = NULL;
	sheet->lines.count = 0;
	ada_output_open(&sheet->output, sheet->fd);
	return 0;
}

static int split(struct ada_sheet *sheet)
{
	char *line = sheet->text, *end;
	int status = 0;

	while (*line && !status) {
		end = line + strcspn(line, "\n");
		status = ada_array_push(&sheet->lines, line);
		line = *end ? end + 1 : end;
		*end = 0;
	}
	return status;
}

int ada_sheet_end(struct ada_sheet *sheet)
{
	size_t length;
	int status;

	if (!ada_output_flush(&sheet->output))
		return -sheet->output.error;
	if (lseek(sheet->fd, 0, SEEK_SET) < 0)
		return -errno;
	status = ada_file_read_fd(sheet->fd, &sheet->text, &length);
	return status ? status : split(sheet);
}

const char *ada_sheet_line(const struct ada_sheet *sheet, uint64_t number)
{
	return number < sheet->lines.count ? sheet->lines.items[number] : "";
}

void ada_sheet_close(struct ada_sheet *sheet)
{
	if (sheet->fd)
		close(sheet->fd);
	free(sheet->text);
	ada_array_free(&sheet->lines);
	sheet->fd = 0;
	sheet->text = NULL;
}
