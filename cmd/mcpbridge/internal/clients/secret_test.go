package clients

import (
	"strings"
	"testing"
)

// A secret is found in every shape in which it stands in the files of clients.
func TestSecretsIn(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"", "plain", "plain"},
		{"", "@modelcontextprotocol/server-filesystem@2025.11.25", "@modelcontextprotocol/server-filesystem@2025.11.25"},
		{"", "/srv/MyLongProjectName2025/server.js", "/srv/MyLongProjectName2025/server.js"},
		{"", "C:/Users/Ana/AppData/Local/Programs2025", "C:/Users/Ana/AppData/Local/Programs2025"},
		{"", "https://example.com/mcp?region=eu", "https://example.com/mcp?region=eu"},
		{"key", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519"},
		{"Authorization", "Bearer x", "Bearer [x]"},
		{"Authorization", "x", "[x]"},
		{"PASSPHRASE", "correct horse", "[correct horse]"},
		{"token", "x", "[x]"},
		{"", "Authorization: Bearer x", "Authorization: Bearer [x]"},
		{"", "Authorization:Bearer x", "Authorization:Bearer [x]"},
		{"header", "X-API-Key: x", "X-API-Key: [x]"},
		{"", "--header=Authorization: Basic x", "--header=Authorization: Basic [x]"},
		{"", "--env=TOKEN=x", "--env=TOKEN=[x]"},
		{"e", "PG_PASSWORD=x", "PG_PASSWORD=[x]"},
		{"", "--access-token:x", "--access-token:[x]"},
		{"c", "export TOKEN=x && run --api-key y z", "export TOKEN=[x] && run --api-key [y] z"},
		{"", `{"a": {"apiKey": "x"}}`, `{"a": {"apiKey": "[x]"}}`},
		{"OPENAPI_MCP_HEADERS", `{"Authorization": "Bearer x"}`, `{"Authorization": "Bearer [x]"}`},
		{"db", "postgres://ana:x@localhost/db", "[postgres://ana:x@localhost/db]"},
		{"", "--db=postgres://ana:x@localhost/db", "--db=[postgres://ana:x@localhost/db]"},
		{"", "https://example.com/mcp?a=b&token=x&c=d", "https://example.com/mcp?a=b&token=[x]&c=d"},
		{"", "https://example.com/mcp#access_token=x", "https://example.com/mcp#access_token=[x]"},
		{"", "https://example.com/s/Zq7x0123456789abcdef/mcp", "https://example.com/s/[Zq7x0123456789abcdef]/mcp"},
		{"", "https://example.com/0123456789abcdef0123456789abcdef", "https://example.com/[0123456789abcdef0123456789abcdef]"},
		{"", "https://ghp_0123456789@example.com/", "https://[ghp_0123456789]@example.com/"},
		{"k", "Zq7x0123456789abcdef", "[Zq7x0123456789abcdef]"},
	} {
		got, end := "", 0
		for _, s := range secretsIn(test.name, test.text) {
			got += test.text[end:s.start] + "[" + test.text[s.start:s.end] + "]"
			end = s.end
		}
		if got += test.text[end:]; got != test.want {
			t.Errorf("%s %s: got %s", test.name, test.text, got)
		}
	}
}

func TestSecretsOfFile(t *testing.T) {
	got := Secrets("x.yaml", []byte("a:\n  envs: {API_KEY: one}\n  args: [--token, two, --port, '8080', --password, --verbose]\n"))
	if strings.Join(got, " ") != "one two" {
		t.Errorf("got %q", got)
	}
	if got := Secrets("x.json", []byte("{")); got != nil {
		t.Errorf("got %q", got)
	}
}

// Redact replaces the secrets in a text of mcpbridge.json, and nothing else.
func TestRedact(t *testing.T) {
	const token = "zK8sTokenInPath9xQ2vLmN4bR7"
	for _, test := range []struct{ name, text, want string }{
		{"", "npx", "npx"},
		{"", "@modelcontextprotocol/server-filesystem@2025.11.25", "@modelcontextprotocol/server-filesystem@2025.11.25"},
		{"", "/srv/MyLongProjectName2025/server.js", "/srv/MyLongProjectName2025/server.js"},
		{"", token, "•••"},
		{"", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "•••"},
		{"", "https://actions.example/mcp/" + token + "/sse", "https://actions.example/mcp/•••/sse"},
		{"", "https://me:0123456789@example.com/mcp/" + token + "?api_key=x&a=b", "https://•••@example.com/mcp/•••?api_key=•••&a=b"},
		{"", "https://me:a@b@example.com", "https://•••@example.com"},
		{"", "https://me:x@example.com?user=a@b", "https://•••@example.com?user=a@b"},
		{"", "//me:x@example.com/a://b", "//•••@example.com/a://b"},
		{"", "https://me:${PW}@example.com/" + token, "https://me:${PW}@example.com/•••"},
		{"token", "x", "•••"},
		{"token", "${TOKEN}", "${TOKEN}"},
		{"", "--key=${KEY}", "--key=${KEY}"},
		{"", "https://example.com/?token=${keychain:CRM_TOKEN}&a=b", "https://example.com/?token=${keychain:CRM_TOKEN}&a=b"},
		{"token", "x${A}0123456789", "x${A}•••"},
		{"", "${ThisIsAVariable2025WithDigits}", "${ThisIsAVariable2025WithDigits}"},
	} {
		if got := Redact(test.name, test.text, "•••"); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.name, test.text, got, test.want)
		}
	}
}

// FuzzConceal replaces the secrets of any text: filled in, it is the same text again.
func FuzzConceal(f *testing.F) {
	f.Add("", "--header=Authorization: Bearer $ghp_0123456789 ${A} $${B} {env:C}")
	f.Add("token", "a${b")
	f.Add("", "$https://ghp_0123456789@x/?key=$$${k&TOKEN=$")
	f.Fuzz(func(t *testing.T, name, text string) {
		i, err := NewImport(ImportOptions{Variable: unset, IsBridge: isBridge})
		if err != nil {
			t.Fatal(err)
		}
		if out := i.conceal(Text{Text: text}, name, "x", "server"); i.fill(Text{Text: out, Variable: true}) != text {
			t.Errorf("%q became %q", text, out)
		}
	})
}
