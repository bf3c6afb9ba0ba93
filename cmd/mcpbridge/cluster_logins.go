package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/secret"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/weblogin"
)

const (
	loginsBook = "logins"
	loginsLock = "lock."          // before the key of a login, while one of all nodes may change it
	lockTime   = 90 * time.Second // after which that of a node that has died is gone; longer than what is done under it
	lockPause  = 100 * time.Millisecond
	keepTime   = 20 * time.Second // for which what was obtained is tried to be kept: the authorization server may not give it again
	codeTime   = 30 * time.Second // that other nodes may take for a code; longer than keepTime
	codePath   = "/peer/code"     // where a node takes the code of a login that it may have
	noLogin    = "-"              // the value of one that has ended: the copies of nodes that were away are not it
)

// clusterLogins has the logins to servers of all nodes: an oauth.Store in a book, of which each node has a
// copy, for when NATS is away. Who holds the lock of a key reads the book and no copy.
type clusterLogins struct {
	copies *secret.Store
	book   atomic.Pointer[sharedBook]

	mu   sync.Mutex // guards held
	held map[string]heldLogin
}

// heldLogin is the lock of a key that this program holds, and the revision that the key had when it was taken.
type heldLogin struct{ token, revision uint64 }

func newClusterLogins(cfg *config.Config) (*clusterLogins, error) {
	copies, err := secret.Of("logins-" + cfg.Cluster.Name)
	if err != nil {
		return nil, err
	}
	l := &clusterLogins{copies: copies, held: map[string]heldLogin{}}
	l.use(remoteBook{cfg.Path, loginsBook})
	return l, nil
}

func (l *clusterLogins) use(book sharedBook) { l.book.Store(&book) }

// Load implements oauth.Store.
func (l *clusterLogins) Load(key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	l.mu.Lock()
	_, held := l.held[key]
	l.mu.Unlock()
	value, _, err := (*l.book.Load()).Get(ctx, key)
	if err != nil && !held {
		value, err = l.copies.Load(key)
	}
	if err != nil || string(value) == noLogin {
		return nil, err
	}
	return value, nil
}

// All implements oauth.Store.
func (l *clusterLogins) All() (map[string][]byte, error) { return l.copies.All() }

// Lock implements oauth.Store.
func (l *clusterLogins) Lock(ctx context.Context, key string) (unlock func(), err error) {
	book, own := *l.book.Load(), []byte(rand.Text())
	for {
		asked, cancel := context.WithTimeout(ctx, bookTime)
		existing, token, err := book.Add(asked, loginsLock+key, own, lockTime)
		if err == nil && existing == nil {
			unlock, err = l.hold(asked, book, key, token)
		}
		cancel()
		if err != nil || unlock != nil {
			return unlock, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hold keeps the revision of a key whose lock has been taken, until unlock is called.
func (l *clusterLogins) hold(ctx context.Context, book sharedBook, key string, token uint64) (unlock func(), err error) {
	_, revision, err := book.Get(ctx, key)
	if err != nil {
		l.unlock(book, key, token)
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = heldLogin{token, revision}
	return func() { l.unlock(book, key, token) }, nil
}

func (l *clusterLogins) unlock(book sharedBook, key string, token uint64) {
	l.mu.Lock()
	if l.held[key].token == token { // else it was gone, and has been taken again here
		delete(l.held, key)
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	_, _, _ = book.Change(ctx, loginsLock+key, nil, token, 0) // else it goes after lockTime
}

// Save implements oauth.Store. The lock of the key is held.
func (l *clusterLogins) Save(key string, value []byte) (err error) {
	l.mu.Lock()
	held, ok := l.held[key]
	l.mu.Unlock()
	if !ok {
		return errors.New("its lock is not held")
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	for {
		var saved bool
		if saved, err = l.put(ctx, key, value, held.revision); err == nil && !saved {
			err = errors.New("another node has changed them meanwhile")
		} else if err != nil && ctx.Err() == nil {
			select {
			case <-time.After(lockPause):
			case <-ctx.Done():
			}
			continue
		}
		return err
	}
}

// put sets the value of a key that has a revision, 0 if it does not exist, and reports whether it has the value then.
func (l *clusterLogins) put(ctx context.Context, key string, value []byte, revision uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, bookTime)
	defer cancel()
	book, changed, err := *l.book.Load(), false, error(nil)
	var existing []byte
	if revision == 0 {
		existing, _, err = book.Add(ctx, key, value, 0)
	} else if _, changed, err = book.Change(ctx, key, value, revision, 0); err == nil && !changed {
		existing, _, err = book.Get(ctx, key) // the answer of an attempt before may not have come
	}
	return changed || revision == 0 && existing == nil || bytes.Equal(existing, value), err
}

// Delete implements oauth.Store.
func (l *clusterLogins) Delete(key string) error { return l.Save(key, []byte(noLogin)) }

// share has the logins kept in a book of all nodes, until ctx ends, and calls changed after one has changed that this
// program knew otherwise. Programs of this user may have the same file of copies.
func (l *clusterLogins) share(ctx context.Context, book *fleet.Book, changed func(key string, value []byte), log *slog.Logger) {
	l.use(book)
	warn := func(err error) {
		if err != nil {
			log.Warn("logins of all nodes are not kept on this machine, for when NATS is away", "reason", err)
		}
	}
	known, err := l.copies.All()
	warn(err)
	told := map[string][sha256.Size]byte{} // digests of what this program knows
	for key, value := range known {
		told[key] = sha256.Sum256(value)
	}
	var mu sync.Mutex // guards news
	news := map[string][]byte{}
	tell := keepDoing(ctx, func() error {
		mu.Lock()
		now := news
		news = map[string][]byte{}
		mu.Unlock()
		warn(l.copies.Copy(now))
		for key, value := range now {
			if sum := sha256.Sum256(value); told[key] != sum {
				told[key] = sum
				changed(key, value)
			}
		}
		return nil
	})
	restore := keepDoing(ctx, func() error { // what NATS has lost
		all, err := l.copies.All()
		warn(err)
		for key, value := range all {
			if _, _, err := book.Add(ctx, key, value, 0); err != nil {
				return err
			}
		}
		return nil
	})
	ready := book.Watch(ctx, func(key string, value []byte, _ uint64) {
		switch {
		case strings.HasPrefix(key, loginsLock):
			return
		case value == nil:
			restore()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		news[key] = value
		tell()
	})
	go func() {
		select {
		case <-ready:
			restore()
		case <-ctx.Done():
		}
	}()
}

// lockLogin is Lock for fleet.Reseal.
func (l *clusterLogins) lockLogin(ctx context.Context, key string) (unlock func(), err error) {
	if strings.HasPrefix(key, loginsLock) {
		return nil, nil
	}
	return l.Lock(ctx, key)
}

// shareLogins has the logins of all nodes used here.
func (l *live) shareLogins(ctx context.Context) {
	logins, ok := l.opts.Logins.(*clusterLogins)
	if !ok {
		l.log.Warn("logins are not shared with the other nodes: this machine has no folder to keep them in", "cluster", l.cluster.name)
		return
	}
	book := l.cluster.open(loginsBook, 0)
	logins.share(ctx, book, l.loginChanged, l.log)
	go fleet.Reseal(ctx, book, logins.lockLogin)
}

// serveCode answers codePath.
func (l *live) serveCode(w http.ResponseWriter, r *http.Request) {
	of := weblogin.Account{Server: r.FormValue("server"), Principal: r.FormValue("principal")}
	json.NewEncoder(w).Encode(l.pool.Desk.FinishHere(r.Context(), of, r.FormValue("code")))
}

// shareDesk lets people log in to servers at whatever node of a cluster they reach.
func (l *live) shareDesk(commands *control) {
	if l.cluster == nil {
		return
	}
	commands.askNode = l.front.Ask
	l.pool.Desk.SetFleet(weblogin.Fleet{NewID: l.front.NewID, Elsewhere: l.front.Elsewhere, Finish: func(ctx context.Context, of weblogin.Account, code string) []weblogin.Outcome {
		ctx, cancel := context.WithTimeout(ctx, codeTime)
		defer cancel()
		path := codePath + "?" + url.Values{"server": {of.Server}, "principal": {of.Principal}, "code": {code}}.Encode()
		return ofNodes(l.cluster, func(n *nodeState) (o weblogin.Outcome) {
			if n.This {
				return o
			}
			switch err := commands.ask(ctx, n, path, &o); {
			case errors.Is(err, errOlder): // a node of an older version takes the codes of its logins itself
			case err != nil:
				if ctx.Err() == nil {
					l.log.Warn("a node cannot be asked for a login", "node", n.Name, "reason", err)
				}
				o.Stage = weblogin.Away
			case o.Stage > weblogin.Away: // it was that node's
				cancel()
			}
			return o
		})
	}})
}
