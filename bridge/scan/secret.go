package scan

import (
	"bytes"
	"strings"
)

// A shape is how a token of a service looks.
type shape struct {
	name, prefix string
	from         int    // how many characters follow at least: an upper bound would be evaded by one more
	more         string // which they are beside letters and digits
	marker       string // that is in them, too; may be ""
}

// shapes are tokens that can be told from other texts, by their issuers' documentation: GitHub ("About authentication
// to GitHub", token formats), GitLab ("Token overview", prefixes), AWS ("IAM identifiers", unique ID prefixes), Slack
// ("Token types"), Stripe ("API keys"), Google ("API keys" and the prefix of client secrets), npm and PyPI (announcements of
// their token formats), Hugging Face ("User access tokens"), DigitalOcean (token prefixes), SendGrid ("API keys"),
// OpenAI and Anthropic (their consoles), JWT (RFC 7519), PEM (RFC 7468).
var shapes = [...]shape{
	{"GitHub token", "ghp_", 36, "", ""}, {"GitHub token", "gho_", 36, "", ""}, {"GitHub token", "ghu_", 36, "", ""},
	{"GitHub token", "ghs_", 36, "._-", ""}, {"GitHub token", "ghr_", 36, "", ""}, {"GitHub token", "github_pat_", 40, "_", ""},
	{"GitLab token", "glpat-", 20, "_-.", ""}, {"GitLab token", "gldt-", 20, "_-.", ""}, {"GitLab token", "glrt-", 20, "_-.", ""},
	{"AWS key", "AKIA", 16, upper, ""}, {"AWS key", "ASIA", 16, upper, ""},
	{"Slack token", "xoxb-", 20, "-", ""}, {"Slack token", "xoxp-", 20, "-", ""}, {"Slack token", "xoxa-", 20, "-", ""}, {"Slack token", "xapp-", 20, "-", ""},
	{"Stripe key", "sk_live_", 16, "", ""}, {"Stripe key", "rk_live_", 16, "", ""},
	{"Google API key", "AIza", 35, "_-", ""}, {"Google client secret", "GOCSPX-", 28, "_-", ""},
	{"npm token", "npm_", 36, "", ""}, {"PyPI token", "pypi-", 50, "_-", ""}, {"Hugging Face token", "hf_", 34, "", ""},
	{"DigitalOcean token", "dop_v1_", 64, "", ""}, {"SendGrid key", "SG.", 60, "._-", "."},
	{"OpenAI key", "sk-proj-", 40, "_-", ""}, {"OpenAI key", "sk-svcacct-", 40, "_-", ""}, {"Anthropic key", "sk-ant-", 40, "_-", ""}, {"API key", "sk-", 40, "", ""},
	{"JWT", "eyJ", 40, "._-", ".eyJ"},
}

// upper means that the characters of a token are capital letters and digits.
const upper = "A-Z0-9"

// pem begins a private key.
const pem = "-----BEGIN "

// secrets calls found for each secret: its name, and its place in plain.
func (t *text) secrets(v *vocabulary, found func(name string, at span)) {
	var none [len(shapes)]int // where a run of characters ends that is no token from any place in it
	b := t.plain
	for i := 0; i < len(b); i++ {
		if b[i] != '-' && v.shapes[b[i]] == nil || i > 0 && isWord(b[i-1]) {
			continue
		}
		if b[i] == '-' {
			if n := privateKey(b[i:]); n > 0 {
				found("private key", span{i, i + n})
				i += n - 1
			}
			continue
		}
		for _, k := range v.shapes[b[i]] {
			if i < none[k] {
				continue
			}
			n, ok := shapes[k].length(b[i:])
			if ok {
				found(shapes[k].name, span{i, i + n})
				i += n - 1
				break
			}
			none[k] = i + n - len(shapes[k].prefix) + 1 // from there on another run may follow the prefix
		}
	}
}

// length reports whether b begins with a token, and how long it is, or the run of its characters that is none.
func (s *shape) length(b []byte) (n int, ok bool) {
	if !bytes.HasPrefix(b, []byte(s.prefix)) {
		return 0, false
	}
	rest := b[len(s.prefix):]
	for n < len(rest) && (isWord(rest[n]) && (s.more != upper || rest[n] < 'a') || s.more != upper && strings.IndexByte(s.more, rest[n]) >= 0) {
		n++
	}
	ok = n >= s.from && bytes.Contains(rest[:n], []byte(s.marker))
	return len(s.prefix) + n, ok
}

// privateKey returns how long the private key is that b begins with, to its end or that of its text; 0 without one.
func privateKey(b []byte) int {
	if !bytes.HasPrefix(b, []byte(pem)) {
		return 0
	}
	head := b[len(pem):min(len(b), len(pem)+40)]
	if !bytes.Contains(head, []byte("PRIVATE KEY-----")) && !bytes.Contains(head, []byte("PRIVATE KEY BLOCK-----")) {
		return 0
	}
	n := bytes.IndexByte(b, '"')
	if n < 0 {
		n = len(b)
	}
	if end := bytes.Index(b[:n], []byte("-----END ")); end >= 0 {
		if line := bytes.Index(b[end+9:n], []byte("-----")); line >= 0 {
			return end + 9 + line + 5
		}
	}
	return n
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
