package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestMain(m *testing.M) {
	peer.Main()
	os.Exit(m.Run())
}

// Two definitions make one client only if they are equal in every field of mcpclient.Config, but for
// those that the pool sets or that have another part in the key.
func TestKeyHasEveryField(t *testing.T) {
	others := map[string]bool{"Log": true, "ID": true, "Supervisor": true, "Children": true, "Roots": true, "Auth": true, "Own": true, "Lacks": true, "Via": true, "Changed": true, "ListSaved": true}
	base := (&definition{}).key()
	for f := range reflect.TypeFor[mcpclient.Config]().Fields() {
		if !f.IsExported() || others[f.Name] {
			continue
		}
		d := &definition{}
		field := reflect.ValueOf(&d.Config).Elem().FieldByName(f.Name)
		switch field.Interface().(type) {
		case error:
			field.Set(reflect.ValueOf(errors.New("x")))
		default:
			field.Set(changed(t, f.Type))
		}
		if d.key() == base {
			t.Errorf("%s does not count", f.Name)
		}
	}
	if (&definition{identity: "x"}).key() == base {
		t.Error("the identity does not count")
	}
}

// changed returns a value of a type that is not zero.
func changed(t *testing.T, of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf("y"))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
	case reflect.Func:
		v.Set(reflect.ValueOf(func(context.Context, []byte) ([]byte, *toolformat.Error) { return nil, nil }))
	case reflect.Struct:
		v.Field(0).Set(changed(t, of.Field(0).Type))
	case reflect.Interface:
		v.Set(reflect.ValueOf(errors.New("x")))
	default:
		t.Fatalf("no value of %s", of)
	}
	return v
}

// Stacks of one pool share the servers whose definitions are equal in their environments.
func TestPoolShares(t *testing.T) {
	bin := t.TempDir()
	program(t, bin, "server")
	pool := NewPool()
	open := func(path string, env map[string]string, text string) *Stack {
		t.Helper()
		env["PATH"] = path
		loader := config.Loader{Getenv: in(env)}
		cfg, err := loader.Parse(filepath.Join(bin, config.FileName), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const text = `{"mcpServers": {"plain": {"command": "server"}, "keyed": {"command": "server", "env": {"KEY": "${KEY}"}}, "far": {"url": "http://127.0.0.1:1/"}}}`
	one := open(bin, map[string]string{"KEY": "1", "OTHER": "1"}, text)
	two := open(bin+string(filepath.ListSeparator)+t.TempDir(), map[string]string{"KEY": "2", "OTHER": "2"}, text)
	for i, same := range []bool{true, false, true} {
		if (one.clients[i].Client == two.clients[i].Client) != same {
			t.Errorf("server %s: shared %t, want %t", one.clients[i].Name(), !same, same)
		}
	}
	elsewhere := t.TempDir()
	program(t, elsewhere, "server")
	three := open(elsewhere, map[string]string{"KEY": "1"}, text)
	for i, same := range []bool{false, false, true} {
		if (one.clients[i].Client == three.clients[i].Client) != same {
			t.Errorf("with another program, server %s: shared %t, want %t", one.clients[i].Name(), !same, same)
		}
	}
	changed := open(bin, map[string]string{"KEY": "1"}, `{"mcpServers": {"plain": {"command": "server", "prefix": "p"}, "far": {"url": "http://127.0.0.1:1/", "timeout": "1s"}}}`)
	if changed.clients[0].Client != one.clients[0].Client {
		t.Error("another prefix needs no other process")
	}
	if changed.clients[1].Client == one.clients[2].Client || changed.clients[1].Status().State != mcpclient.Idle {
		t.Error("another timeout is another client")
	}
	sampling := strings.TrimSuffix(text, "}") + `, "loop": {"sampling": ["plain"]}}`
	four := open(bin, map[string]string{"KEY": "1", "OPENAI_API_KEY": "1"}, sampling)
	five := open(bin, map[string]string{"KEY": "1", "OPENAI_API_KEY": "2"}, sampling)
	if four.clients[0].Client == five.clients[0].Client || four.clients[1].Client != five.clients[1].Client {
		t.Error("a server whose questions another account answers is another one, and only that")
	}
	for _, s := range []*Stack{one, two, three, changed, four, five} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(pool.clients) > 0 {
		t.Errorf("%d clients are left", len(pool.clients))
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// A server of the legacy era is one process for the callers of all Stacks, of either era.
func TestPoolOneProcess(t *testing.T) {
	sourcetest.NoLeaks(t)
	server := peer.NewServer(peer.Legacy)
	server.Tools = `{"name":"a","inputSchema":{"type":"object"}}`
	command, env := server.Child(t)
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": map[string]any{"command": command[0], "env": env}}})
	if err != nil {
		t.Fatal(err)
	}
	pool, path := NewPool(), filepath.Join(t.TempDir(), config.FileName)
	defer pool.Close()
	for i, modern := range []bool{false, true, true, false} {
		cfg, err := config.Loader{}.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		session, err := s.Open(t.Context(), &bridge.Caller{ID: fmt.Sprint(i), Modern: modern})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if list, err := session.List(t.Context(), bridge.Tools); err != nil || len(list.Items) != 1 {
			t.Errorf("caller %d: %v %v", i, list, err)
		}
		if links := s.clients[0].Links(); len(links) != 1 || links[0].Callers != i+1 {
			t.Errorf("caller %d: %+v", i, links)
		}
	}
}

// program makes a file that can be run.
func program(t *testing.T, dir, name string) {
	t.Helper()
	for _, suffix := range []string{"", ".exe"} { // of Windows
		if err := os.WriteFile(filepath.Join(dir, name+suffix), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// The child has the PATH in which its command was found, unless its own env has one.
func TestDefinitionPath(t *testing.T) {
	d := definition{path: "/window"}
	d.Env = map[string]string{"A": "1"}
	if got := d.env(); got["PATH"] != "/window" || got["A"] != "1" || len(d.Env) != 1 {
		t.Errorf("%q of %q", got, d.Env)
	}
	d.Env["PATH"] = "/own"
	if got := d.env()["PATH"]; got != "/own" {
		t.Errorf("PATH is %s", got)
	}
}

// A sampling request is answered by the latest Stack that uses the server.
func TestPoolSampling(t *testing.T) {
	pool := NewPool()
	defer pool.Close()
	answer := func(text string) definition {
		d := definition{Config: mcpclient.Config{URL: "http://127.0.0.1:1/", Timeout: time.Second}}
		d.Sampling = func(context.Context, []byte) ([]byte, *toolformat.Error) { return []byte(text), nil }
		return d
	}
	one, two := pool.take(answer("one")), pool.take(answer("two"))
	asked := func(want string) {
		t.Helper()
		if got, _ := one.sample(t.Context(), nil); string(got) != want {
			t.Errorf("the answer is %s, want %s", got, want)
		}
	}
	asked("two")
	pool.give(two)
	asked("one")
	pool.give(one)
}
