package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]{1,32}$`) })

// token returns a text as one part of a subject: what is not a letter, a digit, - or _ becomes =XX.
func token(s string) string {
	if s == "" {
		return "=" // a part is not empty
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// subject returns a key as a subject; its dots separate parts.
func subject(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		parts[i] = token(p)
	}
	return strings.Join(parts, ".")
}

// pattern returns a pattern of keys as one of subjects: a part * stands for any one, and > at the end
// for all that follow.
func pattern(p string) string {
	parts := strings.Split(p, ".")
	for i, part := range parts {
		if part != "*" && (part != ">" || i < len(parts)-1) {
			parts[i] = token(part)
		}
	}
	return strings.Join(parts, ".")
}

// key returns the key of a subject.
func key(subject string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(subject); i++ {
		c := subject[i]
		if c != '=' {
			b.WriteByte(c)
			continue
		}
		if rest := subject[i+1:]; rest == "" || rest[0] == '.' {
			continue // an empty part
		} else if len(rest) < 2 {
			return "", errors.New("half an escape")
		}
		n, err := strconv.ParseUint(subject[i+1:i+3], 16, 8)
		if err != nil {
			return "", err
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}
