package mcpclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server may repeat what the config gives it. Its credentials are hidden where texts of the server
// become errors (Config.hide, remoteError), notifications (hideNotification) and lines of the log
// (hidingLog). Results are the server's own.

// minSecret is the least length of a credential, in bytes: shorter texts occur by chance.
const minSecret = 6

// credentialName matches the names of variables, headers, options and parameters that hold a
// credential.
var credentialName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^a-z])(auth|pass|pat|pwd|tok)([^a-z]|$)|(authorization|bearer|cookie|credential|key|passphrase|passwd|password|secret|signature|token)s?([^a-z]|$)`)
})

// harmlessHeader matches the names of headers that hold no credential.
var harmlessHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(accept|accept-.*|cache-control|content-.*|mcp-.*|origin|referer|user-agent)$`)
})

// secretsOf collects the credentials in a config.
type secretsOf struct{ all bridge.Secrets }

// findSecrets returns the credentials that a config gives its server: in headers, the URL, variables
// and arguments.
func (cfg *Config) findSecrets() *secretsOf {
	s := &secretsOf{}
	for _, text := range cfg.Secrets {
		s.add(text)
	}
	for name, values := range cfg.header() {
		if !harmlessHeader().MatchString(name) {
			s.add(values[0])
		}
	}
	s.addURL(cfg.URL)
	for name, value := range cfg.Env {
		s.addNamed(name, value)
	}
	for i, arg := range cfg.Command {
		s.addNamed("", arg)
		for _, separator := range []string{"=", ":"} { // --key=…, NAME=…, a header
			if name, value, ok := strings.Cut(arg, separator); ok {
				s.addNamed(name, strings.TrimSpace(value))
			}
		}
		if i > 0 && strings.HasPrefix(cfg.Command[i-1], "-") && !strings.HasPrefix(arg, "-") {
			s.addNamed(cfg.Command[i-1], arg)
		}
	}
	return s
}

// addNamed adds a value if its name or its look is that of a credential, and the credentials of a URL.
func (s *secretsOf) addNamed(name, value string) {
	if looksRandom(value) || credentialName().MatchString(name) && !isFile(value) {
		s.add(value)
	}
	if strings.Contains(value, "://") {
		s.addURL(value)
	}
}

// addURL adds the credentials in a URL: the password, or the user if it has none, parameters of the
// query, and parts of the path.
func (s *secretsOf) addURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	if password, has := u.User.Password(); has {
		s.add(password)
	} else {
		s.add(u.User.Username())
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if strings.ContainsAny(value, "0123456789") {
				s.add(value)
			}
			s.addNamed(name, value)
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		s.addNamed("", part)
	}
}

// add adds a credential, and what it consists of: what follows a scheme, the password of Basic, cookies,
// the lines of a key in PEM.
func (s *secretsOf) add(text string) {
	if len(text) < minSecret {
		return
	}
	s.all.Add(text)
	_, credentials, _ := strings.Cut(text, " ")
	if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		_, password, _ := bytes.Cut(pair, []byte(":"))
		s.addPart(string(password))
	}
	s.addPart(credentials)
	for cookie := range strings.SplitSeq(text, ";") {
		_, value, _ := strings.Cut(cookie, "=")
		s.addPart(value)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, `\n`, "\n"), "\n") {
		if !strings.HasPrefix(line, "-----") {
			s.addPart(line)
		}
	}
}

func (s *secretsOf) addPart(text string) {
	if text = strings.TrimSpace(text); len(text) >= minSecret {
		s.all.Add(text)
	}
}

// isFile reports whether a value is the path of a file or folder. What it names is not hidden.
func isFile(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Stat(value)
	return err == nil
}

// looksRandom reports whether a value looks as only a credential or an id does: at least 20 bytes with
// letters of both cases and digits, or at least 32 hexadecimal digits.
func looksRandom(value string) bool {
	var upper, lower, digits, hex int
	for _, c := range []byte(value) {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'A' <= c && c <= 'Z':
			upper++
		case 'a' <= c && c <= 'z':
			lower++
		case !strings.ContainsRune("+=_-.~", rune(c)):
			return false
		}
		if strings.IndexByte("0123456789abcdefABCDEF-", c) >= 0 {
			hex++
		}
	}
	return len(value) >= 20 && upper > 0 && lower > 0 && digits > 0 || len(value) >= 32 && hex == len(value) && digits > 0
}

// hide hides the credentials of the config in a text for a caller. The hidden values of other callers
// stay there: with them a caller could find out what they are.
func (cfg *Config) hide(text string) string { return cfg.secrets.all.Load().Hide(text) }

// hideAll hides credentials and hidden values in a text for the log or the operator.
func (cfg *Config) hideAll(text string) string { return cfg.recent.hide(cfg.hide(text)) }

// maxRecent is of how many latest sessions, at least, the hidden values are kept: at most twice as many.
const maxRecent = 256

// recentSecrets are the hidden values of the latest calls. A server may repeat one when the call has
// ended, and what it says on a shared link names no call.
type recentSecrets struct {
	young, old atomic.Pointer[sync.Map] // sets of *bridge.Secrets; young becomes old when it is full

	mu   sync.Mutex // guards what changes the above
	left int        // how many more young may have
}

func newRecentSecrets() *recentSecrets {
	r := &recentSecrets{left: maxRecent}
	r.young.Store(&sync.Map{})
	r.old.Store(&sync.Map{})
	return r
}

// An addedSecret is in a set that was young.
type addedSecret struct {
	*bridge.Secrets
	to *sync.Map
}

// add adds the hidden values of a call; nil means none. last is what was added for its caller before.
func (r *recentSecrets) add(s *bridge.Secrets, last *atomic.Pointer[addedSecret]) {
	if s == nil {
		return
	}
	if a := last.Load(); a != nil && a.Secrets == s && a.to == r.young.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		r.old.Store(r.young.Load())
		r.young.Store(&sync.Map{})
		r.left = maxRecent
	}
	young := r.young.Load()
	if _, has := young.LoadOrStore(s, nil); !has {
		r.left--
	}
	last.Store(&addedSecret{s, young})
}

// hide hides them in a text.
func (r *recentSecrets) hide(text string) string {
	young := r.young.Load() // before old, which it may become
	for _, set := range []*sync.Map{young, r.old.Load()} {
		for s := range set.Range {
			text = s.(*bridge.Secrets).Hide(text)
		}
	}
	return text
}

// mostSnippet bounds a snippet, in bytes.
const mostSnippet = 120

// snippet returns the start of unexpected input, for the log and for errors. Credentials are hidden
// before it is cut, which would leave their beginning.
func (cfg *Config) snippet(b []byte) string {
	if cfg.Mute {
		return "(not shown)"
	}
	start := string(bytes.ToValidUTF8(b[:min(len(b), 64*mostSnippet)], []byte("?")))
	text := cfg.hide(start)
	if len(text) <= mostSnippet {
		return text
	}
	return strings.ToValidUTF8(text[:mostSnippet], "?") + "…" // beside which a part of a hidden value is one
}

// remoteError returns the error object of a server, which it copies.
func (cfg *Config) remoteError(object []byte) *toolformat.Error {
	return bridge.RemoteError(cfg.secrets.all.Load().HideJSON(object))
}

// hideNotification hides credentials in the texts of a notification.
func (cfg *Config) hideNotification(m *wire.Message) {
	hideTexts(m, cfg.secrets.all.Load())
}

// hideTexts hides secrets, which may be nil, in the texts of a notification.
func hideTexts(m *wire.Message, secrets *bridge.Secrets) {
	if m.Params.Raw == nil || secrets == nil {
		return
	}
	for _, key := range []string{"data", "message", "statusMessage"} {
		value := wire.Lookup(m.Params.Raw, key)
		if value == nil {
			continue
		}
		if hidden := secrets.HideJSON(value); !bytes.Equal(hidden, value) {
			m.Params, _ = wire.SplitParams(wire.SetMember(m.Params.Raw, key, hidden)) // cannot fail: one value for another
		}
	}
}

// hidingLog is a log handler that hides credentials and hidden values.
type hidingLog struct {
	slog.Handler
	hide func(string) string
}

func (h hidingLog) Handle(ctx context.Context, r slog.Record) error {
	shown := slog.NewRecord(r.Time, r.Level, h.hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		text := fmt.Sprint(a.Value.Resolve().Any())
		if hidden := h.hide(text); hidden != text {
			a.Value = slog.StringValue(hidden)
		}
		shown.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, shown)
}

func (h hidingLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hidingLog{h.Handler.WithAttrs(attrs), h.hide}
}

func (h hidingLog) WithGroup(name string) slog.Handler {
	return hidingLog{h.Handler.WithGroup(name), h.hide}
}
