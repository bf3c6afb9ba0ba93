package stack

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// unsaved are credentials that their store could not take, for instance as the disk is full. A refresh token is
// good once: without its successor the login would be lost. They outlive the Stack that has got them.
type unsaved struct {
	mu     sync.Mutex // guards what follows
	all    map[string]credentials
	locked map[string][]byte // what stores have of the keys that are locked
}

// credentials are those of a key.
type credentials struct {
	value  []byte
	before []byte // what the store has: if it gets something else, that is newer
	store  oauth.Store
}

// in returns a store that has what another one, which may be nil, cannot take. renewed says that this is only what
// replaces something: who logs in for the first time is told that it cannot be stored, and mcpbridge logout finds what is
// used.
func (u *unsaved) in(store oauth.Store, renewed bool, log *slog.Logger) oauth.Store {
	if store == nil {
		return nil
	}
	return &patientStore{store, u, renewed, log}
}

// patientStore is a store that has what another one cannot take, as long as the program runs.
type patientStore struct {
	oauth.Store
	unsaved *unsaved
	renewed bool
	log     *slog.Logger
}

// Lock implements oauth.Store.
func (p *patientStore) Lock(ctx context.Context, key string) (unlock func(), err error) {
	release, err := p.Store.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	value, err := p.Store.Load(key) // Save may not be able to find out
	p.unsaved.mu.Lock()
	defer p.unsaved.mu.Unlock()
	if p.unsaved.locked == nil {
		p.unsaved.locked = map[string][]byte{}
	}
	if delete(p.unsaved.locked, key); err == nil {
		p.unsaved.locked[key] = value
	}
	return func() {
		p.unsaved.mu.Lock()
		delete(p.unsaved.locked, key)
		p.unsaved.mu.Unlock()
		release()
	}, nil
}

// Load implements oauth.Store.
func (p *patientStore) Load(key string) ([]byte, error) {
	value, err := p.Store.Load(key)
	if err != nil {
		return nil, err
	}
	p.unsaved.mu.Lock()
	defer p.unsaved.mu.Unlock()
	return p.unsaved.latest(key, value), nil
}

// All implements oauth.Store.
func (p *patientStore) All() (map[string][]byte, error) {
	stored, err := p.Store.All()
	if err != nil {
		return stored, err
	}
	all := map[string][]byte{}
	maps.Copy(all, stored)
	p.unsaved.mu.Lock()
	defer p.unsaved.mu.Unlock()
	for key, own := range p.unsaved.all {
		if own.store == p.Store && bytes.Equal(own.before, stored[key]) {
			all[key] = own.value
		}
	}
	return all, nil
}

// latest returns what a key has if value is what the store has. u.mu is held.
func (u *unsaved) latest(key string, value []byte) []byte {
	own, ok := u.all[key]
	switch {
	case !ok:
		return value
	case !bytes.Equal(own.before, value):
		delete(u.all, key)
		return value
	}
	return own.value
}

// Save implements oauth.Store. The lock of the key is held.
func (p *patientStore) Save(key string, value []byte) error {
	err := p.Store.Save(key, value)
	if err == nil {
		p.unsaved.mu.Lock()
		defer p.unsaved.mu.Unlock()
		delete(p.unsaved.all, key)
		return nil
	}
	now, unreadable := p.Store.Load(key)
	p.unsaved.mu.Lock()
	defer p.unsaved.mu.Unlock()
	before, known := p.unsaved.locked[key]
	if !known || before == nil && p.renewed || unreadable == nil && !bytes.Equal(now, before) {
		return err
	}
	if p.unsaved.all == nil {
		p.unsaved.all = map[string]credentials{}
	}
	p.unsaved.all[key] = credentials{bytes.Clone(value), before, p.Store}
	p.log.Warn("a login cannot be stored: what cannot be stored by the end of this program is lost", "reason", err)
	return nil
}

// Delete implements oauth.Store.
func (p *patientStore) Delete(key string) error {
	p.unsaved.mu.Lock()
	delete(p.unsaved.all, key)
	p.unsaved.mu.Unlock()
	return p.Store.Delete(key)
}

// saveTime bounds the last attempt to store credentials.
const saveTime = time.Second

// close stores what it can. The error says how many logins are lost, and why.
func (u *unsaved) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	lost, why := 0, error(nil)
	for key, own := range u.all {
		if err := own.save(ctx, key); err != nil {
			lost, why = lost+1, err
		}
	}
	if lost == 0 {
		return nil
	}
	return fmt.Errorf("logins that could not be stored, and are lost: %d: %w", lost, why)
}

// save stores the credentials of a key, unless the store has got others.
func (c *credentials) save(ctx context.Context, key string) error {
	unlock, err := c.store.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	value, err := c.store.Load(key)
	if err != nil || !bytes.Equal(value, c.before) {
		return err
	}
	return c.store.Save(key, c.value)
}
