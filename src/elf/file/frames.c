/* .eh_frame: see frames.h. We walk it ourselves: libdw needs 3 us an entry and trusts more of what it reads. */
#include "elf/file/frames.h"
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define REGISTER_RSP 7
#define REGISTER_RA 16

struct cursor { /* reads stop at `end`; `bad` from the first that would not fit */
	const uint8_t *at, *end;
	uint64_t address; /* of `at` */
	bool bad;
};

struct cie {
	uint64_t address; /* 0: none parsed */
	uint64_t code_align, return_register;
	int64_t data_align;
	uint8_t pointer_encoding, lsda_encoding;
	bool augmented, signal, bad;
	struct cursor instructions;
};

struct rules { /* of one row of the unwind table, as far as the entry rule needs them */
	uint64_t cfa_register;
	int64_t cfa_offset, return_offset;
	bool cfa_known, return_known;
};

struct row {
	struct rules now;
	uint64_t location, wanted; /* offsets from the frame's start: where the row begins, which row is sought */
	struct rules remembered[8];
	unsigned remembered_count;
};

static const uint8_t *cursor_take(struct cursor *cursor, uint64_t bytes)
{
	const uint8_t *at = cursor->at;

	if (cursor->bad || bytes > (uint64_t)(cursor->end - at)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += bytes;
	cursor->address += bytes;
	return at;
}

static uint64_t take_unsigned(struct cursor *cursor, unsigned bytes)
{
	const uint8_t *at = cursor_take(cursor, bytes);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, bytes);
	return value;
}

static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	const uint8_t *byte;

	do {
		byte = cursor_take(cursor, 1);
		if (!byte)
			return 0;
		if (shift < 64)
			value |= (uint64_t)(*byte & 0x7f) << shift;
		shift += 7;
	} while (*byte & 0x80);
	if (is_signed && shift < 64 && *byte & 0x40)
		value |= ~0ull << shift;
	return value;
}

/* Reads a pointer in one of DWARF's encodings, but adds no base other than the pointer's own place. */
static uint64_t take_encoded(struct cursor *cursor, uint8_t encoding)
{
	uint64_t place = cursor->address, value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = take_unsigned(cursor, 8); break;
	case DW_EH_PE_udata4: value = take_unsigned(cursor, 4); break;
	case DW_EH_PE_sdata4: value = (uint64_t)(int32_t)take_unsigned(cursor, 4); break;
	case DW_EH_PE_udata2: value = take_unsigned(cursor, 2); break;
	case DW_EH_PE_sdata2: value = (uint64_t)(int16_t)take_unsigned(cursor, 2); break;
	case DW_EH_PE_uleb128: value = take_leb(cursor, false); break;
	case DW_EH_PE_sleb128: value = take_leb(cursor, true); break;
	default: cursor->bad = true; return 0;
	}
	return (encoding & 0x70) == DW_EH_PE_pcrel ? value + place : value;
}

static void parse_cie(struct cursor cursor, struct cie *cie)
{
	const char *augmentation;
	uint64_t version, length;

	*cie = (struct cie){ .address = cursor.address, .lsda_encoding = DW_EH_PE_omit, .bad = true };
	length = take_unsigned(&cursor, 4);
	if (length > (uint64_t)(cursor.end - cursor.at))
		return;
	cursor.end = cursor.at + length;
	if (take_unsigned(&cursor, 4))
		return;
	version = take_unsigned(&cursor, 1);
	augmentation = (const char *)cursor.at;
	if (cursor.bad || !memchr(augmentation, 0, (size_t)(cursor.end - cursor.at)) || (version != 1 && version != 3))
		return;
	cursor_take(&cursor, strlen(augmentation) + 1);
	cie->code_align = take_leb(&cursor, false);
	cie->data_align = (int64_t)take_leb(&cursor, true);
	cie->return_register = version == 1 ? take_unsigned(&cursor, 1) : take_leb(&cursor, false);
	if (*augmentation && *augmentation != 'z')
		return;
	if (*augmentation) {
		struct cursor data;

		length = take_leb(&cursor, false);
		data = cursor;
		if (!cursor_take(&cursor, length))
			return;
		cie->augmented = true;
		for (const char *letter = augmentation + 1; *letter; letter++) {
			if (*letter == 'R')
				cie->pointer_encoding = (uint8_t)take_unsigned(&data, 1);
			else if (*letter == 'L')
				cie->lsda_encoding = (uint8_t)take_unsigned(&data, 1);
			else if (*letter == 'P')
				take_encoded(&data, (uint8_t)take_unsigned(&data, 1));
			else if (*letter == 'S')
				cie->signal = true;
			else
				break;
		}
	}
	cie->instructions = cursor;
	cie->bad = cursor.bad;
}

static void remember(struct cursor *cursor, struct row *row)
{
	if (row->remembered_count == sizeof row->remembered / sizeof *row->remembered)
		cursor->bad = true;
	else
		row->remembered[row->remembered_count++] = row->now;
}

static void restore(struct cursor *cursor, struct row *row)
{
	if (!row->remembered_count)
		cursor->bad = true;
	else
		row->now = row->remembered[--row->remembered_count];
}

static void run_extended(struct cursor *cursor, const struct cie *cie, uint8_t code, struct row *row)
{
	uint64_t number;

	switch (code) {
	case DW_CFA_nop: break;
	case DW_CFA_remember_state: remember(cursor, row); break;
	case DW_CFA_restore_state: restore(cursor, row); break;
	case DW_CFA_advance_loc1: row->location += take_unsigned(cursor, 1) * cie->code_align; break;
	case DW_CFA_advance_loc2: row->location += take_unsigned(cursor, 2) * cie->code_align; break;
	case DW_CFA_advance_loc4: row->location += take_unsigned(cursor, 4) * cie->code_align; break;
	case DW_CFA_def_cfa:
		row->now.cfa_register = take_leb(cursor, false);
		row->now.cfa_offset = (int64_t)take_leb(cursor, false);
		row->now.cfa_known = true;
		break;
	case DW_CFA_def_cfa_sf:
		row->now.cfa_register = take_leb(cursor, false);
		row->now.cfa_offset = (int64_t)(take_leb(cursor, true) * (uint64_t)cie->data_align);
		row->now.cfa_known = true;
		break;
	case DW_CFA_def_cfa_register: row->now.cfa_register = take_leb(cursor, false); break;
	case DW_CFA_def_cfa_offset: row->now.cfa_offset = (int64_t)take_leb(cursor, false); break;
	case DW_CFA_def_cfa_offset_sf: row->now.cfa_offset = (int64_t)(take_leb(cursor, true) * (uint64_t)cie->data_align); break;
	case DW_CFA_offset_extended:
		number = take_leb(cursor, false);
		if (number == cie->return_register) {
			row->now.return_offset = (int64_t)(take_leb(cursor, false) * (uint64_t)cie->data_align);
			row->now.return_known = true;
		} else {
			take_leb(cursor, false);
		}
		break;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_restore_extended:
		if (take_leb(cursor, false) == cie->return_register)
			row->now.return_known = false;
		break;
	case DW_CFA_GNU_args_size: take_leb(cursor, false); break;
	case DW_CFA_register:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		if (take_leb(cursor, false) == cie->return_register)
			row->now.return_known = false;
		take_leb(cursor, true);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		if (take_leb(cursor, false) == cie->return_register)
			row->now.return_known = false;
		cursor_take(cursor, take_leb(cursor, false));
		break;
	case DW_CFA_def_cfa_expression:
		row->now.cfa_known = false;
		cursor_take(cursor, take_leb(cursor, false));
		break;
	default: cursor->bad = true;
	}
}

/* Runs call frame instructions up to the end of the row that holds the wanted place. */
static void run_row(struct cursor cursor, const struct cie *cie, struct row *row)
{
	while (cursor.at < cursor.end && !cursor.bad && row->location <= row->wanted) {
		uint8_t code = (uint8_t)take_unsigned(&cursor, 1), low = code & 0x3f;

		if ((code & 0xc0) == DW_CFA_advance_loc) {
			row->location += low * cie->code_align;
		} else if ((code & 0xc0) == DW_CFA_offset) {
			uint64_t factor = take_leb(&cursor, false);

			if (low == cie->return_register) {
				row->now.return_offset = (int64_t)(factor * (uint64_t)cie->data_align);
				row->now.return_known = true;
			}
		} else if ((code & 0xc0) != DW_CFA_restore) {
			run_extended(&cursor, cie, code, row);
		}
	}
	if (cursor.bad)
		row->now.cfa_known = false;
}

static bool is_entry(const struct cie *cie, struct cursor instructions, uint64_t offset)
{
	struct row row = { .wanted = offset };

	run_row(cie->instructions, cie, &row);
	run_row(instructions, cie, &row);
	return row.now.cfa_known && row.now.cfa_register == REGISTER_RSP && row.now.cfa_offset == 8 && row.now.return_known &&
	       row.now.return_offset == -8 && cie->return_register == REGISTER_RA;
}

/* Reads a frame from `cursor`, which stands behind the pointer to the CIE; the entry rule is taken at `offset` from the frame's start. */
static struct ada_elf_frame parse_fde(struct cursor cursor, const struct cie *cie, uint64_t offset)
{
	struct ada_elf_frame frame = { .signal = cie->signal, .record = cursor.address - 8 };
	uint64_t length = 0;

	frame.start = take_encoded(&cursor, cie->pointer_encoding);
	frame.size = take_encoded(&cursor, cie->pointer_encoding & 0x0f);
	if (cie->augmented) {
		struct cursor data;

		length = take_leb(&cursor, false);
		data = cursor;
		if (cursor_take(&cursor, length) && cie->lsda_encoding != DW_EH_PE_omit && length) {
			uint64_t place = data.address;

			frame.lsda = take_encoded(&data, cie->lsda_encoding & 0x7f);
			if (data.bad || frame.lsda == place) /* a relative pointer of 0: none */
				frame.lsda = 0;
		}
	}
	if (cursor.bad || !frame.start || !frame.size || frame.start + frame.size < frame.start)
		return (struct ada_elf_frame){ 0 };
	frame.entry = !cie->signal && is_entry(cie, cursor, offset);
	return frame;
}

static int frame_order(const void *a, const void *b)
{
	const struct ada_elf_frame *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

static void sort_frames(struct ada_elf_frames *frames)
{
	size_t kept = 0;

	for (size_t i = 1; i < frames->count; i++) /* linkers mostly leave them sorted */
		if (frame_order(&frames->items[i - 1], &frames->items[i]) > 0) {
			qsort(frames->items, frames->count, sizeof *frames->items, frame_order);
			break;
		}
	for (size_t i = 0; i < frames->count; i++)
		if (!kept || frames->items[kept - 1].start != frames->items[i].start)
			frames->items[kept++] = frames->items[i];
	frames->count = kept;
}

/* The first frame that begins at or behind `start`. */
static size_t frames_from(const struct ada_elf_frames *frames, uint64_t start)
{
	return ada_array_below(frames, start, start);
}

/* Where .eh_frame lies: by its section, else by .eh_frame_hdr, whose first pointer leads to it. */
static struct cursor find_eh_frame(const struct ada_elf *elf)
{
	const struct ada_elf_section *section = ada_elf_section_named(elf, ".eh_frame");
	struct cursor header = { .address = elf->eh_frame_hdr }, found = { 0 };
	uint64_t rest;

	if (section && section->data) {
		found = (struct cursor){ .at = section->data, .end = section->data + section->bytes, .address = section->address };
	} else if (elf->eh_frame_hdr) {
		header.at = ada_elf_rest(elf, elf->eh_frame_hdr, &rest);
		header.end = header.at ? header.at + rest : NULL;
		if (header.at && take_unsigned(&header, 1) == 1) {
			uint8_t encoding = (uint8_t)take_unsigned(&header, 1);

			cursor_take(&header, 2);
			found.address = take_encoded(&header, encoding);
			found.at = header.bad ? NULL : ada_elf_rest(elf, found.address, &rest);
			found.end = found.at ? found.at + rest : NULL;
		}
	}
	return found;
}

/* Reads the record at `cursor` and moves behind it; *cie is kept from one record to the next. False: there is no further record. */
static bool next_fde(const struct cursor *section, struct cursor *cursor, struct cie *cie, uint64_t offset, struct ada_elf_frame *frame)
{
	struct cursor record = *cursor, at = *section;
	uint64_t length = take_unsigned(&record, 4), back, id_address = record.address;

	*frame = (struct ada_elf_frame){ 0 };
	if (record.bad || !length || length == UINT32_MAX || length > (uint64_t)(record.end - record.at))
		return false;
	record.end = record.at + length;
	cursor_take(cursor, 4 + length);
	back = take_unsigned(&record, 4);
	if (!back || back > id_address - section->address)
		return true;
	if (id_address - back != cie->address) {
		cursor_take(&at, id_address - back - section->address);
		parse_cie(at, cie);
	}
	if (!cie->bad)
		*frame = parse_fde(record, cie, offset);
	return true;
}

int ada_elf_frames_read(const struct ada_elf *elf, struct ada_elf_frames *frames)
{
	const struct cursor section = find_eh_frame(elf);
	struct cursor cursor = section;
	struct ada_elf_frame frame;
	struct cie cie = { 0 };

	while (cursor.at && next_fde(&section, &cursor, &cie, 0, &frame))
		if (frame.start && ada_array_push(frames, frame))
			return -ENOMEM;
	sort_frames(frames);
	return 0;
}

bool ada_elf_frames_entry_at(const struct ada_elf *elf, const struct ada_elf_frames *frames, uint64_t address)
{
	const struct cursor section = find_eh_frame(elf);
	size_t next = frames_from(frames, address + 1);
	struct cursor cursor = section;
	struct ada_elf_frame frame;
	struct cie cie = { 0 };

	if (!next || address - frames->items[next - 1].start >= frames->items[next - 1].size)
		return true;
	cursor_take(&cursor, frames->items[next - 1].record - section.address);
	return next_fde(&section, &cursor, &cie, address - frames->items[next - 1].start, &frame) && frame.entry;
}

const struct ada_elf_frame *ada_elf_frames_find(const struct ada_elf_frames *frames, uint64_t start)
{
	size_t i = frames_from(frames, start);

	return i < frames->count && frames->items[i].start == start ? &frames->items[i] : NULL;
}

int ada_elf_landing_pads(const struct ada_elf *elf, const struct ada_elf_frame *frame, struct ada_elf_addresses *pads)
{
	struct cursor cursor = { .address = frame->lsda };
	uint64_t rest, base = frame->start, length;
	uint8_t encoding;

	cursor.at = frame->lsda ? ada_elf_rest(elf, frame->lsda, &rest) : NULL;
	if (!cursor.at)
		return 0;
	cursor.end = cursor.at + rest;
	encoding = (uint8_t)take_unsigned(&cursor, 1);
	if (encoding != DW_EH_PE_omit)
		base = take_encoded(&cursor, encoding);
	if (take_unsigned(&cursor, 1) != DW_EH_PE_omit)
		take_leb(&cursor, false);
	encoding = (uint8_t)take_unsigned(&cursor, 1);
	length = take_leb(&cursor, false);
	if (cursor.bad || length > (uint64_t)(cursor.end - cursor.at))
		return 0;
	cursor.end = cursor.at + length;
	while (cursor.at < cursor.end && !cursor.bad) {
		uint64_t pad;

		take_encoded(&cursor, encoding);
		take_encoded(&cursor, encoding);
		pad = take_encoded(&cursor, encoding);
		take_leb(&cursor, false);
		if (!cursor.bad && pad && ada_array_push(pads, base + pad))
			return -ENOMEM;
	}
	return 0;
}
