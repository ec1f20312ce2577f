/* Parts of functions.c: entries of types and parameters as libdw has them, and where the convention puts values. */
#ifndef ADA_ELF_DEBUG_INTERNAL_H
#define ADA_ELF_DEBUG_INTERNAL_H
#include <elfutils/libdw.h>
#include "base/hash.h"
#include "elf/debug/functions.h"

#define ADA_DEBUG_NESTING_MAX 16 /* compilers never nest like this, broken files may */

enum ada_debug_language { ADA_DEBUG_C, ADA_DEBUG_CXX, ADA_DEBUG_RUST, ADA_DEBUG_ASSEMBLY };

/* --- index.c: from addresses to entries ---------------------------------------------------------------------------------- */

struct ada_debug_unit {
	Dwarf_Die top;	 /* of the split file where there is one */
	Dwarf_Die lines; /* of the file itself, with the line table */
	enum ada_debug_language language;
	bool gcc;
	bool optimised;	      /* of other compilers */
	bool indexed, deeply; /* its functions; also those that lie in other functions */
	bool has_types;	      /* less than -g2 has none */
};

struct ada_debug_entry {
	Dwarf_Die die;
	uint32_t unit;
};

struct ada_debug_index {
	ADA_ARRAY(struct ada_debug_unit) units;
	ADA_ARRAY(struct ada_debug_range) ranges;  /* by start */
	ADA_ARRAY(struct ada_debug_entry) entries; /* functions of the units that were asked for */
	struct ada_table by_address;		   /* -> entries */
	uint64_t budget;			   /* of entries looked at: a sound file never has so many */
};
struct ada_debug_range {
	uint64_t start, end;
	uint32_t unit;
};

int ada_debug_index_make(struct ada_debug_index *index, Dwarf *dwarf, const struct ada_elf *elf); /* 0 or -ENOMEM */
/* NULL: no function begins there. */
const struct ada_debug_entry *ada_debug_index_find(struct ada_debug_index *index, uint64_t address);
/* The unit whose code is at that address; NULL: none. */
const struct ada_debug_unit *ada_debug_index_unit(const struct ada_debug_index *index, uint64_t address);
void ada_debug_index_free(struct ada_debug_index *index);

/* --- line.c -------------------------------------------------------------------------------------------------------------- */

const char *ada_debug_file(Dwarf_Die *die, unsigned name); /* that an attribute of the entry gives, DW_AT_decl_file; NULL: not known */
/* As ada_debug_line. */
bool ada_debug_index_line(struct ada_debug_index *index, uint64_t function, uint64_t bytes, uint64_t address, struct ada_debug_line *line);

/* --- shape.c ------------------------------------------------------------------------------------------------------------- */

bool ada_debug_follow(Dwarf_Die *die, unsigned attribute, Dwarf_Die *to); /* `to` may be `die` */
/* What the entry's DW_AT_type leads to, behind typedef, const and the like. False: void, or there is none. */
bool ada_debug_type_of(Dwarf_Die *die, Dwarf_Die *type);
bool ada_debug_named_type(Dwarf_Die *die, Dwarf_Die *type); /* the entry's DW_AT_type as it stands */
bool ada_debug_number(Dwarf_Die *die, unsigned name, Dwarf_Word *number);
uint64_t ada_debug_bytes(Dwarf_Die *type);     /* 0: not known */
uint64_t ada_debug_elements(Dwarf_Die *array); /* 0: not known, or none */
bool ada_debug_is_string(Dwarf_Die *die);      /* std::string */
bool ada_debug_is_vector(Dwarf_Die *array);
/* A union that is passed as its first member (__attribute__((transparent_union))): GCC writes the one behind a typedef without members. */
bool ada_debug_is_transparent(Dwarf_Die *type);
/* Offset of a member or base class in its structure; false: it has no place of its own there. */
bool ada_debug_member_offset(Dwarf_Die *member, uint64_t *offset);
/* Where a bit-field's bits are: counted from the structure's first bit, or as in DWARF 3 from the last bit of the member's storage.
 * False: DWARF says it in no known way. */
bool ada_debug_member_bits(Dwarf_Die *die, struct ada_debug_member *member);

/* --- name.c -------------------------------------------------------------------------------------------------------------- */

char *ada_debug_type_name(Dwarf_Die *die, enum ada_debug_language language); /* of the entry's DW_AT_type, malloc'ed */

/* --- type.c -------------------------------------------------------------------------------------------------------------- */

/* Of the entry's DW_AT_type. Fills `type`, which is all zero, as far as memory allows. */
void ada_debug_type_read(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type);
void ada_debug_type_free(struct ada_debug_type *type);

/* --- place.c ------------------------------------------------------------------------------------------------------------- */

struct ada_debug_convention {
	enum ada_debug_language language;
	bool foreign;		  /* Rust: the name isn't, so the convention needn't be */
	unsigned general, vector; /* registers given away */
	uint64_t stack;
	bool lost; /* the place of an argument wasn't known: nor are those behind it */
};
/* Where the function leaves its result; takes the register of its place in memory away. */
void ada_debug_place_result(struct ada_debug_convention *convention, Dwarf_Die *function, struct ada_debug_where *where);
void ada_debug_place_parameter(struct ada_debug_convention *convention, Dwarf_Die *parameter, struct ada_debug_where *where);

/* --- located.c ----------------------------------------------------------------------------------------------------------- */

/* What the parameter's own entry says of its place at the function's beginning. A value that the code assigns before it does anything
 * else looks the same. */
enum ada_debug_located {
	ADA_DEBUG_UNLOCATED, /* nothing, or that the argument isn't there as it was handed over */
	ADA_DEBUG_IN_MEMORY, /* where the function will have put the argument */
	ADA_DEBUG_BEHIND,    /* in memory that the register of `where` points to */
	ADA_DEBUG_LOCATED,   /* `where` */
};
struct ada_debug_at_entry {
	enum ada_debug_located found;
	struct ada_debug_where where;
	uint32_t used; /* registers that its value is computed from, general 0 to 5, vector 8 to 15: callers fill them */
};
void ada_debug_place_at_entry(Dwarf_Die *parameter, uint64_t address, struct ada_debug_at_entry *at_entry);

/* --- settle.c ------------------------------------------------------------------------------------------------------------ */

enum ada_debug_trust {			  /* in the convention */
		       ADA_DEBUG_SURE,	  /* callers go by it */
		       ADA_DEBUG_VISIBLE, /* they do, but for what the function doesn't use */
		       ADA_DEBUG_FREE,	  /* the compiler knew them all, and did as it liked */
};
/* Settles where the parameters are, by the convention (`convention`) and by what their entries say. */
void ada_debug_settle_places(struct ada_debug_function *function, const struct ada_debug_at_entry *at_entry, enum ada_debug_trust trust,
			     enum ada_debug_language language);
#endif
