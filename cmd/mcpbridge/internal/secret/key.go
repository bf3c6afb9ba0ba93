package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// KeyVariable names the environment variable with the key of the stores: a long random text.
const KeyVariable = "MCPBRIDGE_SECRET_KEY"

const (
	keyFile   = "secret.key" // beside the sealed file
	minKey    = 32           // characters of KeyVariable
	maxKey    = 4 << 10      // bytes of a file with a key
	keyIDSize = 8            // bytes

	refusalTime = 30 * time.Second // before a keychain that has failed is asked again: each time may take keychainWait
)

// Places of a key.
const (
	inKeychain = "keychain"
	inFile     = "file"
	inVariable = "variable"
)

// A sealKey is the key of a sealed file.
type sealKey [32]byte

// id tells keys apart and says nothing about them.
func (k sealKey) id() string {
	sum := sha256.Sum256(append([]byte("mcpbridge key id\n"), k[:]...))
	return hex.EncodeToString(sum[:keyIDSize])
}

// text returns the key as keychains and files keep it.
func (k sealKey) text() string { return base64.StdEncoding.EncodeToString(k[:]) }

// parseKey is the reverse of text.
func parseKey(text string) (k sealKey, err error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != len(k) {
		return k, errors.New("not a key")
	}
	return sealKey(raw), nil
}

// variableKey returns the key from the environment.
func variableKey() (k sealKey, set bool, err error) {
	text := strings.TrimSpace(os.Getenv(KeyVariable))
	if text == "" {
		return k, false, nil
	}
	if len(text) < minKey {
		return k, true, fmt.Errorf("%s needs at least %d random characters, as openssl rand -base64 32 prints them", KeyVariable, minKey)
	}
	return sha256.Sum256([]byte(text)), true, nil
}

// find returns the key with an id, which is in a place.
func (s *Store) find(place, id string) (sealKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, known := s.keys[id]; known {
		return key, nil
	}
	if place == inKeychain && time.Since(s.refused) < refusalTime {
		return sealKey{}, s.refusal
	}
	key, err := s.at(place)
	if err != nil {
		if place == inKeychain {
			s.refusal, s.refused = err, time.Now()
		}
		return key, err
	}
	if key.id() != id {
		return key, fmt.Errorf("sealed with another key than the one %s: %s", where(place), bringBack)
	}
	s.keys[id] = key
	return key, nil
}

// at returns the key in a place.
func (s *Store) at(place string) (key sealKey, err error) {
	switch place {
	case inVariable:
		key, set, err := variableKey()
		if !set {
			err = fmt.Errorf("sealed with the key in %s, which is not set: %s", KeyVariable, bringBack)
		}
		return key, err
	case inFile:
		text, err := file.ReadRegular(s.keyPath(), maxKey)
		if err == nil {
			key, err = parseKey(string(text))
		}
		if err == nil && isExposed(s.keyPath()) {
			err = errors.New("every user of this computer can read it: chmod 600 " + s.keyPath())
		}
		if err != nil {
			err = fmt.Errorf("sealed with the key in %s: %w", s.keyPath(), lost(err))
		}
		return key, err
	case inKeychain:
		text, err := s.chain.get()
		if err == nil {
			key, err = parseKey(text)
		}
		if err != nil {
			err = fmt.Errorf("sealed with a key in the system's keychain: %w", lost(err))
		}
		return key, err
	}
	return key, errDamaged
}

// bringBack says what to do about a key that is gone.
const bringBack = "bring that key back, or move the file away and set its secrets anew"

// lost returns the error of a key that cannot be read, with what to do if it is gone.
func lost(err error) error {
	if errors.Is(err, errNoKey) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", err, bringBack)
	}
	return err
}

// isExposed reports whether other users can read a file, as the modes of it and its folder say.
func isExposed(path string) bool {
	can := func(path string, bit fs.FileMode) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode()&bit != 0
	}
	return runtime.GOOS != "windows" && can(path, 0o004) && can(filepath.Dir(path), 0o001)
}

// choose returns the key to seal with: the one of the environment, else that of the older file, else a
// new one in the best place there is.
func (s *Store) choose(old []byte) (place string, key sealKey, err error) {
	if key, set, err := variableKey(); set {
		return inVariable, key, err
	}
	if old != nil {
		place, id, _, _, err := header(old)
		if err != nil {
			return "", key, err
		}
		key, err = s.find(place, id)
		return place, key, err
	}
	if key, err = s.keychainKey(); err == nil {
		return inKeychain, key, nil
	}
	key, err = s.fileKey()
	return inFile, key, err
}

// newKey returns a random key.
func newKey() (k sealKey) {
	rand.Read(k[:]) // never fails
	return k
}

// keychainKey returns the key in the keychain, which is made if there is none. One that is something
// else is left alone.
func (s *Store) keychainKey() (sealKey, error) {
	text, err := s.chain.get()
	if errors.Is(err, errNoKey) {
		key := newKey()
		return key, s.chain.set(key.text())
	}
	if err != nil {
		return sealKey{}, err
	}
	return parseKey(text)
}

// fileKey returns the key in its file, which is made if there is none.
func (s *Store) fileKey() (key sealKey, err error) {
	err = file.Update(s.keyPath(), func(text []byte) ([]byte, error) {
		if text == nil {
			text = []byte(newKey().text() + "\n")
		}
		var err error
		key, err = parseKey(string(text))
		return text, err
	}, nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.keyPath(), err)
	}
	return key, err
}

func (s *Store) keyPath() string { return filepath.Join(filepath.Dir(s.path), keyFile) }

// KeyPlace says where the key of the file is, which exists: "in the system's keychain".
func (s *Store) KeyPlace() string {
	text, err := file.ReadRegular(s.path, maxFile)
	if err != nil {
		return "nowhere"
	}
	place, _, _, _, _ := header(text)
	if place == inFile {
		return "in " + s.keyPath()
	}
	return where(place)
}

// where says where a place is.
func where(place string) string {
	switch place {
	case inVariable:
		return "in " + KeyVariable
	case inKeychain:
		return "in the system's keychain"
	}
	return "in " + keyFile
}
