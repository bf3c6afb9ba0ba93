package wire

import "testing"

func TestLogLevel(t *testing.T) {
	all := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	for i, wanted := range all {
		level := ParseLogLevel([]byte(`"` + wanted + `"`))
		if level.String() != wanted {
			t.Errorf("%s is read as %q", wanted, level)
		}
		for j, severity := range all {
			if got := level.Admits([]byte(`{"level":"` + severity + `","data":1}`)); got != (j >= i) {
				t.Errorf("%s admits %s: %v", wanted, severity, got)
			}
		}
	}
	for _, raw := range []string{``, `""`, `null`, `1`, `"Debug"`, `"trace"`, `{"level":"debug"}`} {
		if level := ParseLogLevel([]byte(raw)); level != 0 || level.String() != "" {
			t.Errorf("%s is the level %q", raw, level)
		}
	}
	for _, message := range []string{`{}`, `{"level":"trace"}`, `{"level":7}`, ``} {
		for level, want := range []bool{true, true, false, false, false, false, false, false, false} {
			if got := LogLevel(level).Admits([]byte(message)); got != want {
				t.Errorf("%q admits %s: %v", LogLevel(level), message, got)
			}
		}
	}
}
