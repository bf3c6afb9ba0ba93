package process

import "testing"

func TestBatchLine(t *testing.T) {
	tests := []struct{ arg, want string }{
		{`-y`, `-y`},
		{`@scope/server`, `@scope/server`},
		{``, `""`},
		{`a b`, `"a b"`},
		{`a&calc`, `"a&calc"`},
		{`"&calc`, `"""&calc"`},
		{`C:\dir`, `C:\dir`},
		{`C:\dir\`, `"C:\dir\\"`},
		{`a\"b`, `"a\\""b"`},
		{`%PATH%`, `"%%cd:~,%PATH%%cd:~,%"`},
		{`grüß`, `grüß`},
	}
	for _, test := range tests {
		want := `cmd.exe /e:ON /v:OFF /d /c ""C:\n\npx.cmd" ` + test.want + `"`
		if got, err := batchLine(`C:\n\npx.cmd`, []string{test.arg}); err != nil || got != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", test.arg, got, err, want)
		}
	}
	for _, arg := range []string{"a\nb", "a\rb", "a\x00b"} {
		if line, err := batchLine(`C:\npx.cmd`, []string{arg}); err == nil {
			t.Errorf("%q became %s", arg, line)
		}
	}
	if !isBatch(`C:\NPX.CMD`) || !isBatch("x.bat") || isBatch("cmd.exe") {
		t.Error("isBatch")
	}
}
