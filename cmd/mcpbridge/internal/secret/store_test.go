package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// chain is a keychain in memory; one with an error has none.
type chain struct {
	mu   sync.Mutex
	text string
	err  error
}

func (c *chain) get() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.text == "" {
		return "", errNoKey
	}
	return c.text, c.err
}

func (c *chain) set(text string) error {
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
	return c.err
}

// open returns the store of a file, as another process does.
func open(path string, c *chain) *Store {
	s := NewStore(path)
	s.chain = c
	return s
}

const marked = "SECRET-value"

// What is saved is loaded by another process, and stands in no file.
func TestStore(t *testing.T) {
	for name, c := range map[string]*chain{"keychain": {}, "file": {err: errors.New("none here")}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(KeyVariable, "")
			dir := filepath.Join(t.TempDir(), "state")
			path := filepath.Join(dir, "s.sealed")
			if got, err := open(path, c).Load("A"); got != nil || err != nil {
				t.Fatalf("without a file: %q, %v", got, err)
			}
			for i := range 3 {
				if err := open(path, c).Save(fmt.Sprint("A", i), fmt.Append(nil, marked, i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := open(path, c).Delete("A1"); err != nil {
				t.Fatal(err)
			}
			s := open(path, c)
			times, err := s.Times()
			if got, _ := s.Load("A2"); string(got) != marked+"2" || len(times) != 2 || times["A0"].IsZero() || err != nil {
				t.Errorf("got %q, %v, %v", got, times, err)
			}
			if !strings.Contains(s.KeyPlace(), name[:3]) && name == "keychain" || (c.text == "") != (name == "file") {
				t.Errorf("the key is %s", s.KeyPlace())
			}
			filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				info, _ := d.Info()
				if text, _ := os.ReadFile(path); bytes.Contains(text, []byte("SECRET")) || bytes.Contains(text, []byte("A2")) {
					t.Errorf("%s shows a secret", path)
				}
				if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has the mode %v", path, info.Mode())
				}
				return err
			})
		})
	}
}

// A file that cannot be opened is left as it is, and the error says why.
func TestUnreadable(t *testing.T) {
	t.Setenv(KeyVariable, "")
	c := &chain{}
	path := filepath.Join(t.TempDir(), "s.sealed")
	if err := open(path, c).Save("A", []byte(marked)); err != nil {
		t.Fatal(err)
	}
	whole, _ := os.ReadFile(path)
	other := &chain{text: newKey().text()}
	for _, v := range []struct {
		text  []byte
		chain *chain
		want  string
	}{
		{whole[:len(whole)-1], c, "damaged"},
		{append([]byte("x"), whole...), c, "damaged"},
		{bytes.Replace(whole, []byte("keychain"), []byte("elsewhere"), 1), &chain{}, "damaged"},
		{nil, c, "damaged"},
		{whole, other, "sealed with another key than the one in the system's keychain: bring that key back"},
		{whole, &chain{}, "sealed with a key in the system's keychain: it has no such key (was it removed, or is this another account?): bring that key back"},
		{whole, &chain{err: errors.New("locked")}, "sealed with a key in the system's keychain: locked"},
		{bytes.Replace(whole, []byte("keychain"), []byte("file"), 1), c, "bring that key back, or move the file away"},
		{bytes.Replace(whole, []byte("keychain"), []byte("variable"), 1), c, "which is not set: bring that key back"},
	} {
		if err := os.WriteFile(path, v.text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, loadErr := open(path, v.chain).Load("A")
		saveErr := open(path, v.chain).Save("B", []byte("x"))
		for _, err := range []error{loadErr, saveErr} {
			if err == nil || !strings.Contains(err.Error(), v.want) || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("got %v, want %s", err, v.want)
			}
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, v.text) {
			t.Errorf("%s: the file has changed", v.want)
		}
	}
}

// A key that other users can read is not used.
func TestExposed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	t.Setenv(KeyVariable, "")
	c := &chain{err: errors.New("none")}
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "s.sealed")
	if err := open(path, c).Save("A", []byte(marked)); err != nil {
		t.Fatal(err)
	}
	for modes, want := range map[[2]os.FileMode]string{{0o700, 0o644}: "", {0o755, 0o600}: "", {0o755, 0o644}: "chmod 600 " + filepath.Join(dir, keyFile)} {
		if err := errors.Join(os.Chmod(dir, modes[0]), os.Chmod(filepath.Join(dir, keyFile), modes[1])); err != nil {
			t.Fatal(err)
		}
		if _, err := open(path, c).Load("A"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", modes, err)
		}
	}
}

// The key of the environment comes first, and a file gets it when it is changed.
func TestVariable(t *testing.T) {
	t.Setenv(KeyVariable, "")
	c := &chain{}
	path := filepath.Join(t.TempDir(), "s.sealed")
	if err := open(path, c).Save("A", []byte(marked)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(KeyVariable, "too short")
	if err := open(path, c).Save("B", nil); err == nil || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("got %v", err)
	}
	t.Setenv(KeyVariable, strings.Repeat("k", minKey))
	if err := open(path, c).Save("B", nil); err != nil {
		t.Fatal(err)
	}
	s := open(path, &chain{err: errors.New("none")})
	if got, err := s.Load("A"); string(got) != marked || err != nil || s.KeyPlace() != "in "+KeyVariable {
		t.Errorf("got %q, %v, %s", got, err, s.KeyPlace())
	}
}

// Processes that begin at once make one key, and lose no value.
func TestAtOnce(t *testing.T) {
	t.Setenv(KeyVariable, "")
	for _, c := range []*chain{{}, {err: errors.New("none")}} {
		dir := t.TempDir()
		var work sync.WaitGroup
		for i := range 16 {
			work.Go(func() {
				if err := open(filepath.Join(dir, fmt.Sprint(i%2)), c).Save(fmt.Sprint(i), []byte(marked)); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		for i := range 2 {
			if times, err := open(filepath.Join(dir, fmt.Sprint(i)), c).Times(); len(times) != 8 || err != nil {
				t.Errorf("%d values, %v", len(times), err)
			}
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sealed")
	unlock, err := NewStore(path).Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewStore(path).Lock(ended, "a"); err == nil {
		t.Error("locked twice")
	}
	if other, err := NewStore(path).Lock(t.Context(), "b"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	unlock()
	if again, err := NewStore(path).Lock(t.Context(), "a"); err != nil {
		t.Error(err)
	} else {
		again()
	}
}

// Without a session bus there is no wait for a keychain.
func TestNoSessionBus(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has one")
	}
	if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
		t.Skip("one runs")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if _, err := (systemKeychain{}).get(); err == nil || !strings.Contains(err.Error(), "no session bus") {
		t.Errorf("got %v", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	if _, err := (systemKeychain{}).get(); err == nil || errors.Is(err, errNoKey) {
		t.Errorf("got %v", err)
	}
}
