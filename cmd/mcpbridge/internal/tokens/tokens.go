// Package tokens keeps the file of the tokens that the bridge has issued: their hashes, and whose they are.
package tokens

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// A Token is one that has been issued. Its text is not kept.
type Token struct {
	Name     string     `json:"name"`
	SHA256   string     `json:"sha256"` // of its text, in hexadecimal
	Profiles []string   `json:"profiles,omitempty"`
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
}

// Sum returns the SHA-256 of the token's text.
func (t *Token) Sum() (sum [sha256.Size]byte) {
	hex.Decode(sum[:], []byte(t.SHA256)) // Read has checked it
	return sum
}

// Is reports whether a token has a name and a text.
func (t *Token) Is(name, text string) bool {
	return t.Name == name && t.Sum() == sha256.Sum256([]byte(text))
}

// Path returns the path of the file that belongs to a config.
func Path(config string) string { return strings.TrimSuffix(config, ".json") + ".tokens.json" }

const maxSize = 16 << 20 // bytes

// contents is what the file has.
type contents struct {
	Tokens []Token `json:"tokens"`
}

// Read reads a file; one that does not exist has no tokens. The error names the file.
func Read(path string) ([]Token, error) {
	text, err := file.ReadRegular(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all contents
	if err == nil {
		all, err = parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all.Tokens, nil
}

// parse reads the text of a file. A token that is not understood is an error: it would let in nobody, or
// somebody for too long.
func parse(text []byte) (all contents, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return all, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return all, fmt.Errorf("not a file of tokens: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return all, errors.New("not a file of tokens: expected its end after the object")
	}
	for i, t := range all.Tokens {
		if sum, err := hex.DecodeString(t.SHA256); err != nil || len(sum) != sha256.Size {
			return all, fmt.Errorf("tokens[%d].sha256: expected %d hexadecimal digits", i, 2*sha256.Size)
		}
		if err := checkName(t.Name); err != nil {
			return all, fmt.Errorf("tokens[%d].name: %w", i, err)
		}
	}
	return all, nil
}

// checkName refuses names that are taken for those of other principals.
func checkName(name string) error {
	if name == "" || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '#' || r == 0x7f }) {
		return errors.New(`expected a name without spaces and "#"`)
	}
	if name == "local" {
		return errors.New(`"local" is the name of all clients on stdio: expected another one`)
	}
	return nil
}

// Create adds a token to a file, and returns its text, which is kept nowhere.
func Create(path string, added Token) (text string, err error) {
	if err := checkName(added.Name); err != nil {
		return "", err
	}
	text = "mcpb_" + rand.Text()
	sum := sha256.Sum256([]byte(text))
	added.SHA256 = hex.EncodeToString(sum[:])
	return text, change(path, func(all []Token) ([]Token, error) {
		if slices.ContainsFunc(all, func(t Token) bool { return t.Name == added.Name }) {
			return nil, fmt.Errorf("there is a token for %s: remove it first (mcpbridge token remove %s)", added.Name, added.Name)
		}
		return append(all, added), nil
	})
}

// Remove removes tokens from a file: all that are named, or none.
func Remove(path string, names ...string) error {
	return change(path, func(all []Token) ([]Token, error) {
		for _, name := range names {
			before := len(all)
			all = slices.DeleteFunc(all, func(t Token) bool { return t.Name == name })
			if len(all) == before {
				return nil, fmt.Errorf("no token for %s (mcpbridge token list shows them)", name)
			}
		}
		return all, nil
	})
}

func change(path string, edit func([]Token) ([]Token, error)) error {
	return file.Update(path, func(text []byte) ([]byte, error) {
		all, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if all.Tokens, err = edit(all.Tokens); err != nil {
			return nil, err
		}
		out, err := json.MarshalIndent(&all, "", "  ")
		return append(out, '\n'), err
	}, nil)
}
