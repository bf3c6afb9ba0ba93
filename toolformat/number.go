package toolformat

import (
	"math/big"
	"strconv"
	"strings"
)

// maxExponent bounds the exponents that are computed with: 1e9999999 is nine bytes of
// JSON and a number of ten million digits.
const maxExponent = 400

// exponent is the exponent of a JSON number; ok is false when it is out of bounds.
func exponent(raw string) (e int, ok bool) {
	_, digits, found := strings.Cut(strings.ToLower(raw), "e")
	if !found {
		return 0, true
	}
	e, err := strconv.Atoi(digits)
	return e, err == nil && e >= -maxExponent && e <= maxExponent
}

// rational is the exact value of a JSON number; nil when its exponent is out of bounds.
func rational(raw string) *big.Rat {
	if _, ok := exponent(raw); !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(raw)
	if !ok {
		return nil
	}
	return r
}

// sameNumber reports whether two JSON numbers have one value.
func sameNumber(a, b string) bool {
	x, y := rational(a), rational(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// isInteger reports whether a JSON number is a whole one, as JSON Schema counts: 12.0 is
// (2020-12 core, 4.2.3).
func isInteger(raw string) bool {
	r := rational(raw)
	return r != nil && r.IsInt()
}
