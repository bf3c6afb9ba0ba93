package secret

import (
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// keychain is where the system keeps the key of the stores.
type keychain interface {
	get() (string, error) // errNoKey if there is none
	set(text string) error
}

// errNoKey is the error of a keychain without the key.
var errNoKey = errors.New("it has no such key (was it removed, or is this another account?)")

// keychainWait bounds the wait for the keychain: without anybody to unlock it, it may never answer.
const keychainWait = 5 * time.Second

// The names of the entry.
const (
	keychainService = "mcpbridge"
	keychainUser    = "key of sealed files"
)

// systemKeychain is the keychain of this user.
type systemKeychain struct{}

func (systemKeychain) get() (string, error) {
	return bounded(func() (string, error) {
		text, err := keyring.Get(keychainService, keychainUser)
		if errors.Is(err, keyring.ErrNotFound) {
			err = errNoKey
		}
		return text, err
	})
}

func (systemKeychain) set(text string) error {
	_, err := bounded(func() (string, error) { return "", keyring.Set(keychainService, keychainUser, text) })
	return err
}

// bounded returns what do returns, and does not wait longer for it than keychainWait.
func bounded(do func() (string, error)) (string, error) {
	if err := reachable(); err != nil {
		return "", err
	}
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := do()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-time.After(keychainWait):
		return "", fmt.Errorf("no answer within %s (is it locked?)", keychainWait)
	}
}
