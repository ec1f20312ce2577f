/* Type information as C++ compilers write it, by hand: what test_classes.c asks for. Names of the runtime and of the standard library are
 * undefined: a library has them. */
#define KIND(kind) .quad _ZTVN10__cxxabiv1##kind##E + 16
#define OBJECT(name) .globl name; .type name, @object; name

	.section .rodata
simple_name:	.asciz "6Simple"
deep_name:	.asciz "*4Deep"
both_name:	.asciz "4Both"

	.text
	.globl _ZNK4Both4whatEv
	.type _ZNK4Both4whatEv, @function
_ZNK4Both4whatEv:
	ret

	.section .data.rel.ro, "aw"
	.balign 8
OBJECT(_ZTI6Simple):		/* without a base */
	KIND(17__class_type_info)
	.quad simple_name
OBJECT(_ZTI7Failure):		/* of the library's class */
	KIND(20__si_class_type_info)
	.quad simple_name
	.quad _ZTISt13runtime_error
OBJECT(_ZTI4Deep):
	KIND(20__si_class_type_info)
	.quad deep_name
	.quad _ZTI7Failure
OBJECT(_ZTI4Both):		/* a virtual base, one behind another, and then the one that begins it */
	KIND(21__vmi_class_type_info)
	.quad both_name
	.long 0, 3
	.quad _ZTI6Simple, 0 << 8 | 3
	.quad _ZTI6Simple, 8 << 8 | 2
	.quad _ZTI7Failure, 0 << 8 | 2
OBJECT(_ZTI5Apart):		/* none begins it */
	KIND(21__vmi_class_type_info)
	.quad simple_name
	.long 0, 1
	.quad _ZTI6Simple, 16 << 8 | 2
OBJECT(_ZTI6Beyond):		/* says that it has more bases than any class */
	KIND(21__vmi_class_type_info)
	.quad simple_name
	.long 0, 0xffffffff
	.quad _ZTI7Failure, 0 << 8 | 2
OBJECT(_ZTI5Other):		/* of a kind that nobody knows */
	.quad _ZTI6Simple
	.quad simple_name
	.quad _ZTI7Failure
OBJECT(_ZTV4Deep):
	.quad 0, _ZTI4Deep, 0, 0, _ZNKSt13runtime_error4whatEv
OBJECT(_ZTV4Both):
	.quad 0, _ZTI4Both, 0, 0, _ZNK4Both4whatEv

	.section .note.GNU-stack, "", @progbits
