package config

import (
	"fmt"
	"strings"
	"testing"
)

// A config of ours is never told to be another program's.
func TestForeignKeys(t *testing.T) {
	for name := range new(Config).keys() {
		for _, with := range []string{"", `, "mcpServers": {}`} {
			_, err := Loader{}.Parse("", fmt.Appendf(nil, `{%q: 7%s}`, name, with))
			if err != nil && strings.Contains(err.Error(), "this file is") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
