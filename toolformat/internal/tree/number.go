package tree

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// The bounds of the numbers that are computed with: 1e9999999 is nine bytes of JSON and a number
// of ten million digits.
const (
	maxDigits   = 1000 // characters, as written
	maxExponent = 400
)

// exponent returns the exponent of a JSON number; ok is false if it is out of bounds.
func exponent(raw string) (e int, ok bool) {
	_, digits, found := strings.Cut(strings.ToLower(raw), "e")
	if !found {
		return 0, true
	}
	e, err := strconv.Atoi(digits)
	return e, err == nil && e >= -maxExponent && e <= maxExponent
}

// BoundNumber returns an error for a JSON number that is too long, or has too large an exponent,
// to compute with.
func BoundNumber(raw string) error {
	if _, ok := exponent(raw); !ok || len(raw) > maxDigits {
		return fmt.Errorf("expected a number of at most %d characters and an exponent of at most %d", maxDigits, maxExponent)
	}
	return nil
}

// Rational returns the exact value of a JSON number; nil if its exponent is out of bounds.
func Rational(raw string) *big.Rat {
	if _, ok := exponent(raw); !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(raw)
	return r
}

// IsInteger reports whether a JSON number is a whole number, as JSON Schema counts: 12.0 is one
// (2020-12 core, 4.2.3).
func IsInteger(raw string) bool {
	r := Rational(raw)
	return r != nil && r.IsInt()
}
