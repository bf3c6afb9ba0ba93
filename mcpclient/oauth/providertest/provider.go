// Package providertest runs oidc-provider, a certified OpenID provider, as the authorization server of
// tests, and has what a client needs to log in to it.
package providertest

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

//go:embed testdata/provider.mjs
var script []byte

// A Provider is an authorization server that registers every client, and lets anyone log in as ana, whose
// tokens have the claim groups, ["support"]. Access tokens are JWTs, for whatever resource is asked for, with
// the scopes read and write.
type Provider struct {
	Issuer string

	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

// Start starts a Provider until the test ends. The test is skipped where MCPBRIDGE_OIDC_PROVIDER names no
// folder with the packages of testdata/package.json. clients are those that are registered before.
func Start(t testing.TB, clients ...any) *Provider {
	t.Helper()
	modules := os.Getenv("MCPBRIDGE_OIDC_PROVIDER")
	if modules == "" {
		t.Skip("MCPBRIDGE_OIDC_PROVIDER names no folder with the packages of testdata/package.json")
	}
	file, err := os.CreateTemp(modules, "provider-*.mjs") // from where it finds its packages
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file.Name()) })
	if _, err := file.Write(script); err != nil {
		t.Fatal(err)
	}
	file.Close()
	settings, _ := json.Marshal(map[string]any{"lifetime": 3600, "clients": append([]any{}, clients...)})
	cmd := exec.Command("node", filepath.Base(file.Name()), string(settings))
	cmd.Dir = modules
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	p := &Provider{t: t, in: in, out: bufio.NewReader(out)}
	p.Issuer = p.line()
	return p
}

func (p *Provider) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the provider has ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// Rotate makes the Provider sign with another key, and forget the one before.
func (p *Provider) Rotate() { p.do("rotate") }

// SetClock sets the Provider's clock ahead, or back.
func (p *Provider) SetClock(ahead time.Duration) { p.do(fmt.Sprint("clock ", int(ahead.Seconds()))) }

func (p *Provider) do(command string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		p.t.Fatal(err)
	}
	p.line()
}

// Memory is an oauth.Store.
type Memory struct {
	mu    sync.Mutex // guards all
	all   map[string][]byte
	entry sync.Mutex // held by whoever has called Lock
}

// Load implements oauth.Store.
func (m *Memory) Load(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key], nil
}

// All implements oauth.Store.
func (m *Memory) All() (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.all), nil
}

// Save implements oauth.Store.
func (m *Memory) Save(key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	m.all[key] = value
	return nil
}

// Delete implements oauth.Store.
func (m *Memory) Delete(key string) error { return m.Save(key, nil) }

// Lock implements oauth.Store.
func (m *Memory) Lock(context.Context, string) (func(), error) {
	m.entry.Lock()
	return m.entry.Unlock, nil
}

// Copy returns another Memory with what this one has.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{all: maps.Clone(m.all)}
}

// Browser returns one whose user agrees to everything, and that keeps cookies.
func Browser(t testing.TB) oauth.Prompt {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return oauth.Prompt{Open: func(address string) error {
		resp, err := (&http.Client{Jar: jar}).Get(address)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the browser shows %s of %s", resp.Status, resp.Request.URL)
		}
		return nil
	}}
}
