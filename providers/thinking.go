package providers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Thinking says whether and how long a model thinks before it answers. A number above 0 is the most
// tokens of it in a turn.
type Thinking int

// The words of Thinking.
const (
	ThinkingDefault Thinking = 0  // as the provider has it
	ThinkingOff     Thinking = -1 // not at all, or as little as the model can
	ThinkingOn      Thinking = -2 // as the model sees fit; its thoughts are shown, where the API can
)

// ParseThinking reads on, off or a number of tokens.
func ParseThinking(text string) (Thinking, error) {
	switch n, err := strconv.ParseUint(text, 10, 31); {
	case text == "on":
		return ThinkingOn, nil
	case text == "off":
		return ThinkingOff, nil
	case err == nil && n > 0:
		return Thinking(n), nil
	}
	return 0, fmt.Errorf("thinking %q: expected on, off or a number of tokens", text)
}

// Effort returns the effort that is closest to the thinking, for an API that has efforts alone; "" leaves
// it to the provider.
func (t Thinking) Effort() string {
	switch {
	case t == ThinkingOff:
		return "none"
	case t <= 0:
		return ""
	case t <= 4_096:
		return "low"
	case t <= 16_384:
		return "medium"
	}
	return "high"
}

// ParseEffort checks the word for an effort.
func ParseEffort(text string) (string, error) {
	efforts := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	if !slices.Contains(efforts, text) {
		return "", fmt.Errorf("effort %q: expected one of %s", text, strings.Join(efforts, ", "))
	}
	return text, nil
}
