package process

import (
	"slices"
	"testing"
)

func TestEnviron(t *testing.T) {
	tests := []struct {
		name, goos   string
		parent, want []string
		extra        map[string]string
	}{
		{
			name: "unix", goos: "linux",
			parent: []string{
				"USER=me", "HOME=/home/me", "PATH=/bin", "LC_ALL=C", "LANG=C", "TMPDIR=/t", "XDG_CACHE_HOME=/c",
				"https_proxy=http://proxy:8080", "HTTP_PROXY=http://me:hunter2@proxy", "no_proxy=localhost",
				"NODE_EXTRA_CA_CERTS=/ca.pem", "SHELL=() { :; }", "OPENAI_API_KEY=hunter2", "home=hunter2",
				"XDG_SESSION_ID=1", "SSH_AUTH_SOCK=/s", "broken",
			},
			extra: map[string]string{"PATH": "/opt/bin", "KEY": "() is fine here", "": "nothing"},
			want: []string{
				"HOME=/home/me", "KEY=() is fine here", "LANG=C", "LC_ALL=C", "NODE_EXTRA_CA_CERTS=/ca.pem",
				"PATH=/opt/bin", "TMPDIR=/t", "USER=me", "XDG_CACHE_HOME=/c", "https_proxy=http://proxy:8080", "no_proxy=localhost",
			},
		},
		{
			name: "windows", goos: "windows",
			parent: []string{`Path=C:\bin`, `SystemRoot=C:\Windows`, `=C:=C:\x`, "ProgramFiles(x86)=C:\\P", "GITHUB_TOKEN=hunter2", "HOME=/h"},
			extra:  map[string]string{"PATH": `D:\bin`},
			want:   []string{`PATH=D:\bin`, `ProgramFiles(x86)=C:\P`, `SystemRoot=C:\Windows`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := environ(test.goos, test.parent, test.extra); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestGetenv(t *testing.T) {
	if got := getenv([]string{"PATH=/a", "XPATH=/b", "PATH=/c=d"}, "PATH"); got != "/c=d" {
		t.Errorf("got %q", got)
	}
}
