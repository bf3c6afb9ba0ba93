package tree

import (
	"fmt"
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

// Rational is the exact value of a JSON number; nil when its exponent is out of bounds.
func Rational(raw string) *big.Rat {
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
	x, y := Rational(a), Rational(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// IsInteger reports whether a JSON number is a whole one, as JSON Schema counts: 12.0 is
// (2020-12 core, 4.2.3).
func IsInteger(raw string) bool {
	r := Rational(raw)
	return r != nil && r.IsInt()
}

// maxDigits bounds the length of the numbers that are computed with.
const maxDigits = 1000

// BoundNumber returns an error for a JSON number that is too long, or has too large an
// exponent, to compute with.
func BoundNumber(raw string) error {
	if _, ok := exponent(raw); !ok || len(raw) > maxDigits {
		return fmt.Errorf("expected a number of at most %d characters and an exponent of at most %d", maxDigits, maxExponent)
	}
	return nil
}
