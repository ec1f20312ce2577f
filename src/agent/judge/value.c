/* Compares what a register holds with a rule's operand, by the type. The agent may not use floating-point registers, so it compares real
 * numbers by their bits: apart from NaN, sign and magnitude order them like integers.
 */
#include "agent/judge/parts.h"

#define DOUBLE_BIAS 1023
#define DOUBLE_BITS 52
#define DOUBLE_INFINITY 0x7ff0000000000000ull
#define FLOAT_BIAS 127
#define FLOAT_BITS 23
#define SIGN (1ull << 63)

static bool by_order(int order, enum ada_rule_op op)
{
	switch (op) {
	case ADA_OP_LT: return order < 0;
	case ADA_OP_LE: return order <= 0;
	case ADA_OP_EQ: return order == 0;
	case ADA_OP_NE: return order != 0;
	case ADA_OP_GE: return order >= 0;
	case ADA_OP_GT: return order > 0;
	case ADA_OP_NONE: break;
	}
	return false;
}

bool ada_value_compare(uint64_t value, enum ada_rule_op op, uint64_t operand)
{
	return by_order((value > operand) - (value < operand), op);
}

static bool compare_signed(int64_t value, enum ada_rule_op op, int64_t operand)
{
	return by_order((value > operand) - (value < operand), op);
}

/* The double of the same value; every float has one. */
static uint64_t widen(uint32_t bits)
{
	uint64_t sign = (uint64_t)(bits >> 31) << 63, exponent = bits >> FLOAT_BITS & 0xff, fraction = bits & ((1u << FLOAT_BITS) - 1);

	if (exponent == 0xff)
		return sign | DOUBLE_INFINITY | fraction << (DOUBLE_BITS - FLOAT_BITS);
	if (!exponent && !fraction)
		return sign;
	if (!exponent) { /* subnormal: its highest bit becomes the hidden one */
		uint32_t highest = 31 - __builtin_clz((uint32_t)fraction);

		fraction ^= 1ull << highest;
		return sign | (uint64_t)(highest + 1 - FLOAT_BITS - FLOAT_BIAS + DOUBLE_BIAS) << DOUBLE_BITS |
		       fraction << (DOUBLE_BITS - highest);
	}
	return sign | (exponent - FLOAT_BIAS + DOUBLE_BIAS) << DOUBLE_BITS | fraction << (DOUBLE_BITS - FLOAT_BITS);
}

static bool is_nan(uint64_t bits)
{
	return (bits & ~SIGN) > DOUBLE_INFINITY;
}

static int64_t rank(uint64_t bits) /* both zeros: 0 */
{
	return bits & SIGN ? -(int64_t)(bits & ~SIGN) : (int64_t)bits;
}

static bool compare_real(uint64_t value, enum ada_rule_op op, uint64_t operand)
{
	if (is_nan(value) || is_nan(operand))
		return op == ADA_OP_NE;
	return compare_signed(rank(value), op, rank(operand));
}

bool ada_value_fits(uint64_t raw, enum ada_value_type type, enum ada_rule_op op, const struct ada_rule *rule)
{
	switch (type) {
	case ADA_VALUE_I64: return compare_signed(raw, op, rule->operand.i);
	case ADA_VALUE_I32: return compare_signed((int32_t)raw, op, rule->operand.i);
	case ADA_VALUE_I16: return compare_signed((int16_t)raw, op, rule->operand.i);
	case ADA_VALUE_I8: return compare_signed((int8_t)raw, op, rule->operand.i);
	case ADA_VALUE_U64: return ada_value_compare(raw, op, rule->operand.u);
	case ADA_VALUE_U32: return ada_value_compare((uint32_t)raw, op, rule->operand.u);
	case ADA_VALUE_U16: return ada_value_compare((uint16_t)raw, op, rule->operand.u);
	case ADA_VALUE_U8: return ada_value_compare((uint8_t)raw, op, rule->operand.u);
	case ADA_VALUE_F64: return compare_real(raw, op, rule->operand.u);
	case ADA_VALUE_F32: return compare_real(widen(raw), op, rule->operand.u);
	}
	return false;
}
