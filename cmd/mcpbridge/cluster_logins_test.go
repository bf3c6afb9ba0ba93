package main

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// A login at one node is that of all; one of them renews it, and the others use what that got. Without NATS a node
// goes on with the token that it knows, and renews none.
func TestLoginsOfNodes(t *testing.T) {
	t.Setenv(secret.KeyVariable, testSecretKey)
	g := newGuarded()
	t.Cleanup(g.Close)
	g.rotates = true
	all := clusterOf(t, "a", "b", "c")
	var stores []*clusterLogins
	var clients []*oauth.Client
	copied := make(chan bool, 100)
	for _, c := range all {
		store := &clusterLogins{copies: secret.NewStore(filepath.Join(t.TempDir(), "copies")), held: map[string]heldLogin{}}
		store.share(t.Context(), c.node.Book(loginsBook, 0), func(string, []byte) { copied <- true }, slog.New(slog.DiscardHandler))
		client, err := oauth.New(oauth.Config{Server: g.URL + "/mcp", Store: store})
		if err != nil {
			t.Fatal(err)
		}
		stores, clients = append(stores, store), append(clients, client)
	}
	err := clients[0].Login(t.Context(), nil, oauth.Prompt{Open: func(address string) error {
		resp, err := http.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "Bearer token-1-of-the-login", "Bearer token-2-of-the-login"
	expect := func(client *oauth.Client, want string) {
		t.Helper()
		client.Reset()
		if header, err := client.Authorization(t.Context()); header != want || err != nil {
			t.Errorf("the token is %q, %v, want %q", header, err, want)
		}
	}
	refused := func(client *oauth.Client, token string) error {
		_, err := client.Refused(t.Context(), token, http.StatusUnauthorized, nil, false)
		return err
	}
	var work sync.WaitGroup
	for range 3 {
		for _, client := range clients {
			work.Go(func() {
				if err := refused(client, first); err != nil {
					t.Error(err)
				}
				expect(client, second)
			})
		}
	}
	if work.Wait(); g.renewed != 1 {
		t.Errorf("the login was renewed %d times", g.renewed)
	}
	key, known := "", ""
	for !strings.Contains(known, "token-2") {
		<-copied
		copies, _ := stores[1].copies.All()
		for name, value := range copies {
			key, known = name, string(value)
		}
	}
	changes(t, oauth.Config{Server: g.URL + "/mcp", Store: stores[0]}, key, known)
	comesBack(t, all[0].node.Book(loginsBook, 0), key)
	all[1].engine.Close()
	expect(clients[1], second)
	if err := refused(clients[1], second); err == nil || !strings.Contains(err.Error(), "try again") || g.renewed != 1 {
		t.Errorf("without NATS it is renewed: %v", err)
	}
	if err := clients[2].Logout(t.Context()); err != nil {
		t.Error(err)
	}
	expect(clients[0], "")
	if err := stores[0].Save("00", nil); err == nil {
		t.Error("saved without the lock")
	}
	keepOfStopped(t, stores[0], stores[2])
}

// changes has a client that has not renewed its login told of its record, as it is and as others.
func changes(t *testing.T, cfg oauth.Config, key, is string) {
	client, err := oauth.New(cfg)
	if err == nil {
		_, err = client.Authorization(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, value     string
		came, switched bool
	}{
		{key, is, true, false},
		{"00", "", false, false},
		{key, noLogin, true, true},
		{key, strings.Replace(is, `"login":"`, `"login":"other`, 1), true, true},
	} {
		if came, switched := client.Changed(c.key, []byte(c.value)); came.IsZero() == c.came || switched.IsZero() == c.switched {
			t.Errorf("%s %s: %v, %v", c.key, c.value, came, switched)
		}
	}
}

// comesBack takes a login out of a book, as if NATS had lost it, and waits until a node has put it back.
func comesBack(t *testing.T, book *fleet.Book, key string) {
	if _, _, err := book.Change(t.Context(), key, nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	for lost := true; lost; {
		value, _, err := book.Get(t.Context(), key)
		if lost = value == nil; err != nil {
			t.Fatal(err)
		}
	}
}

// keepOfStopped has a node that was stopped under its lock for longer than that lasts not replace what another has
// saved meanwhile.
func keepOfStopped(t *testing.T, stopped, other *clusterLogins) {
	ctx := context.Background()
	load := func(l *clusterLogins) {
		if _, err := l.Load("01"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stopped.Lock(ctx, "01"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (*other.book.Load()).Change(ctx, loginsLock+"01", nil, 0, 0); err != nil { // as if it had gone
		t.Fatal(err)
	}
	if _, err := other.Lock(ctx, "01"); err != nil {
		t.Fatal(err)
	}
	if err := other.Save("01", []byte("new")); err != nil {
		t.Error(err)
	}
	load(stopped)
	if err := stopped.Save("01", []byte("old")); err == nil || !strings.Contains(err.Error(), "another node") {
		t.Errorf("it has saved: %v", err)
	}
}

// Nodes that have the same file of copies all hear that a login has changed, and not of one that they know.
func TestLoginsOfOneFolder(t *testing.T) {
	t.Setenv(secret.KeyVariable, testSecretKey)
	all, path := clusterOf(t, "a", "b"), filepath.Join(t.TempDir(), "copies")
	if err := secret.NewStore(path).Save("known", []byte("0")); err != nil {
		t.Fatal(err)
	}
	book := all[0].node.Book(loginsBook, 0)
	for _, key := range []string{"known", "before"} {
		if _, _, err := book.Add(t.Context(), key, []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	var told [2]chan string
	for i, c := range all {
		told[i] = make(chan string, 100)
		store := &clusterLogins{copies: secret.NewStore(path), held: map[string]heldLogin{}}
		store.share(t.Context(), c.node.Book(loginsBook, 0), func(key string, value []byte) { told[i] <- key + string(value) }, slog.New(slog.DiscardHandler))
		if i > 0 {
			continue // the file has it now
		}
		if got := <-told[i]; got != "before0" {
			t.Error(got)
		}
	}
	if _, _, err := book.Change(t.Context(), "known", []byte("1"), 0, 0); err != nil {
		t.Fatal(err)
	}
	for _, told := range told {
		if got := <-told; got != "known1" {
			t.Error(got)
		}
	}
	if copies, err := secret.NewStore(path).All(); err != nil || string(copies["known"]) != "1" || string(copies["before"]) != "0" {
		t.Error(copies, err)
	}
}
