package secret

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

const (
	maxFile  = 16 << 20 // bytes
	maxValue = 1 << 20  // bytes

	lockRetry = 10 * time.Millisecond
	lockWait  = 30 * time.Second // for another process that asks for the keychain
)

// Config is the name of the store of a config's ${keychain:NAME}.
const Config = "secrets"

// A Store keeps values by their names. It may be used by many goroutines and processes at once.
type Store struct {
	path  string
	chain keychain

	mu      sync.Mutex         // guards what follows
	keys    map[string]sealKey // by their ids, so that the keychain is asked once
	refusal error              // of the keychain
	refused time.Time
}

// A value is what the file has for a name.
type value struct {
	Set  time.Time `json:"set"`
	Text []byte    `json:"value"`
}

// NewStore returns the store of a file, which need not exist.
func NewStore(path string) *Store {
	return &Store{path: path, chain: systemKeychain{}, keys: map[string]sealKey{}}
}

// Of returns the store of a name in the user's state folder.
func Of(name string) (*Store, error) {
	path, err := file.State(name + ".sealed")
	if err != nil {
		return nil, err
	}
	return NewStore(path), nil
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Load returns the value of a name, or nil if there is none.
func (s *Store) Load(name string) ([]byte, error) {
	all, err := s.all()
	if v, ok := all[name]; ok {
		return v.Text, err
	}
	return nil, err
}

// All returns the values of all names.
func (s *Store) All() (map[string][]byte, error) {
	all, err := s.all()
	texts := make(map[string][]byte, len(all))
	for name, v := range all {
		texts[name] = v.Text
	}
	return texts, err
}

// Times returns when each name was set.
func (s *Store) Times() (map[string]time.Time, error) {
	all, err := s.all()
	times := make(map[string]time.Time, len(all))
	for name, v := range all {
		times[name] = v.Set
	}
	return times, err
}

// Save sets the value of a name.
func (s *Store) Save(name string, text []byte) error {
	return s.put(map[string][]byte{name: text})
}

// Copy saves the values that the file does not have yet, by their names.
func (s *Store) Copy(texts map[string][]byte) error {
	known, err := s.All()
	if err != nil {
		return err
	}
	others := maps.Clone(texts)
	maps.DeleteFunc(others, func(name string, text []byte) bool {
		have, ok := known[name]
		return ok && bytes.Equal(have, text)
	})
	if len(others) == 0 {
		return nil
	}
	return s.put(others)
}

func (s *Store) put(texts map[string][]byte) error {
	for _, text := range texts {
		if len(text) > maxValue {
			return fmt.Errorf("larger than %d MiB", maxValue>>20)
		}
	}
	return s.change(func(all map[string]value) {
		for name, text := range texts {
			all[name] = value{time.Now().UTC().Truncate(time.Second), append([]byte{}, text...)}
		}
	})
}

// Delete removes a name; there may be none.
func (s *Store) Delete(name string) error {
	if old, err := s.Load(name); old == nil || err != nil {
		return err
	}
	return s.change(func(all map[string]value) { delete(all, name) })
}

// Lock keeps others that call it from a name until unlock is called. It waits for them while ctx lasts.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), err error) {
	return lock(ctx, s.path+".locks", name)
}

// lock locks a name, of those that have a lock in a folder.
func lock(ctx context.Context, path, name string) (unlock func(), err error) {
	sum := sha256.Sum256([]byte(name))
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(path, hex.EncodeToString(sum[:8])), flock.SetPermissions(file.Private))
	if _, err := l.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path(), err)
	}
	return func() { l.Close() }, nil
}

// all returns what the file has; it may not exist.
func (s *Store) all() (map[string]value, error) {
	text, err := file.ReadIfExists(s.path, maxFile)
	all := map[string]value(nil)
	if text != nil && err == nil {
		all, err = s.open(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return all, nil
}

// change changes the file. One that cannot be read stays as it is.
func (s *Store) change(do func(all map[string]value)) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := lock(ctx, s.keyPath()+".locks", "") // two processes, or stores, must not make a key each
	if err != nil {
		return err
	}
	defer unlock()
	err = file.Update(s.path, func(text []byte) ([]byte, error) {
		all := map[string]value{}
		if text != nil {
			var err error
			if all, err = s.open(text); err != nil {
				return nil, err
			}
		}
		do(all)
		return s.seal(text, all)
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// NameRule says what a name of a secret that users set is.
const NameRule = "a name of letters, digits, _, - and ."

// IsName reports whether a secret that users set can have a name.
func IsName(name string) bool {
	return name != "" && len(name) <= 200 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") == "" && name[0] != '-'
}
