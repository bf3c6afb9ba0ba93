package wire

import (
	"math"
	"strconv"
	"strings"
)

var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}

// ParseSize parses a positive number of bytes with a unit, in any letter case, such as "64MiB",
// "10 MB" or "512". ok is false for any other text, a part of a byte, and a number that float64 and
// int do not both hold exactly.
func ParseSize(text string) (size int, ok bool) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, known := sizeUnits[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if n *= unit; !known || err != nil || n < 1 || n > min(1<<53, math.MaxInt) || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}
