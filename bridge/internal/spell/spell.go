// Package spell says in words what people and models read. spell.go is all of it.
package spell

import (
	"fmt"
	"math"
	"time"
)

// Duration returns a length of time in words, rounded up.
func Duration(d time.Duration) string {
	count := func(unit time.Duration) int { return max(1, int(math.Ceil(float64(d)/float64(unit)))) }
	switch {
	case d <= 2*time.Minute:
		return fmt.Sprintf("%d s", count(time.Second))
	case d <= 2*time.Hour:
		return fmt.Sprintf("%d min", count(time.Minute))
	}
	return fmt.Sprintf("%d h", count(time.Hour))
}
