package local

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// limited returns the spec of a shell script that reads its arguments first.
func limited(script, limits string) string {
	return fmt.Sprintf(`{"command":["sh","-c",%q],"timeout":"1m","limits":%s}`, "read line; "+script, limits)
}

// Limits apply to a command and its children, and neither they nor its arguments show in the
// process list.
func TestLimits(t *testing.T) {
	b := open(t, Options{})
	got := text(t, sourcetest.Do(t, sourcetest.Tool(t, b, limited("cat /proc/self/limits; tr '\\0' ' ' </proc/$$/cmdline; :", `{"memory":268435456,"cpu":1.5,"files":20,"fileSize":4096}`)), `{"key":"secret"}`))
	for _, want := range []string{`Max address space +268435456 +268435456 `, `Max cpu time +2 +3 `, `Max open files +20 +20 `, `Max file size +4096 +4096 `, `(?m)^sh -c read line;`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("an argument shows in the process list:\n%s", got)
	}
}

// A command that exceeds a limit is ended or refused, and the result says how.
func TestLimitsReached(t *testing.T) {
	b := open(t, Options{})
	file := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct{ script, limits, want string }{
		{"while :; do :; done", `{"cpu":1}`, "SIGXCPU"},
		{"exec head -c 100000 /dev/zero >" + file, `{"fileSize":1000}`, "SIGXFSZ"},
		{"exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null", `{"files":5}`, "exit status"},
	} {
		r := sourcetest.Do(t, sourcetest.Tool(t, b, limited(c.script, c.limits)), `{}`)
		if !r.IsError() || !strings.Contains(text(t, r), c.want) {
			t.Errorf("%s: %s", c.script, r.JSON)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() > 1000 {
		t.Errorf("%v (%v)", info, err)
	}
}

func TestLimitsSpec(t *testing.T) {
	b := open(t, Options{})
	for spec, want := range map[string]string{
		`{"command":["cat"],"limits":{"memory":-1}}`:    "limits: expected a size",
		`{"command":["cat"],"limits":{"cpu":"never"}}`:  "limits: expected a duration",
		`{"command":["cat"],"limits":{"memroy":1}}`:     `did you mean "memory"?`,
		`{"wasm":"x.wasm","limits":{"memory":1}}`:       "limits are for a command",
		`{"command":["cat"],"limits":{"files":"many"}}`: "files",
	} {
		if _, _, err := b.Tool(toolformat.Tool{Name: "t"}, []byte(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
