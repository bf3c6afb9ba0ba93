package native

import (
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// IsNumber reports whether s is a JSON number (RFC 8259, section 6).
func IsNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && wire.Valid([]byte(s)) == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// maxExponent cuts off exponents, so that sums of them do not overflow.
const maxExponent = 1 << 20

// Decimal returns the absolute value of a JSON number as digits × 10^exponent; the digits have no
// zeros at either end unless they are "0".
func Decimal(number string) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	exponent, _ = strconv.Atoi(power) // 0 without a power, the largest int if the power overflows
	exponent = max(-maxExponent, min(exponent, maxExponent))
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0", 0
	}
	return trimmed, exponent - len(fraction) + len(digits) - len(trimmed)
}
