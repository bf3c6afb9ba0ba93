// Package tokens keeps the file of the tokens that the bridge has issued: their hashes, and whose they are.
package tokens

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Client   bool       `json:"client,omitempty"` // made for the file of an MCP client, and ends with its connection
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

// MaxSize bounds a file, in bytes.
const MaxSize = 16 << 20

// contents is what the file has.
type contents struct {
	Tokens  []Token   `json:"tokens"`
	Removed []removed `json:"removed,omitzero"` // the last ones, oldest first, of a file that has been merged; else nil
}

// removed is a token that a file does not have any more, whatever another file says.
type removed struct {
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

const maxRemoved = 1000

// expiredTime is how long after its end a token is kept that all have.
const expiredTime = 24 * time.Hour

// Read reads a file. The tokens are nil only if it does not exist: of a file without tokens they are empty. The error
// names the file.
func Read(path string) ([]Token, error) {
	text, err := file.ReadIfExists(path, MaxSize)
	var all contents
	if err == nil {
		all, err = parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all.Tokens, nil
}

// parse reads the text of a file, nil if it does not exist. A token that is not understood is an error: it would let
// in nobody, or somebody for too long. So is a text without a list: without tokens everybody is let in.
func parse(text []byte) (all contents, err error) {
	switch {
	case text == nil:
		return all, nil
	case len(bytes.TrimSpace(text)) == 0:
		return all, errors.New("not a file of tokens: it is empty: restore it from a backup, or remove it and make its tokens anew (mcpbridge token create NAME)")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		if _, name, unknown := strings.Cut(err.Error(), "unknown field "); unknown {
			err = fmt.Errorf("this version does not know its key %s: if a newer version of mcpbridge has written the file, use that", name)
		}
		return all, fmt.Errorf("not a file of tokens: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return all, errors.New("not a file of tokens: expected its end after the object")
	}
	if all.Tokens == nil {
		return all, errors.New(`not a file of tokens: expected "tokens", an array`)
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

// ErrTaken is the error of Create for a name that has a token.
var ErrTaken = errors.New("there is a token of that name")

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
			return nil, ErrTaken
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

// RemoveClient removes the token that was made for the file of an MCP client, and no other one of its name.
func RemoveClient(path, name string) error {
	return change(path, func(all []Token) ([]Token, error) {
		return slices.DeleteFunc(all, func(t Token) bool { return t.Client && t.Name == name }), nil
	})
}

// Merge returns the text of a file that has the tokens of two, nil for one that does not exist, but for those that
// have been removed from either, or have expired: a day ago if both files have it, so that clocks may differ by that. The
// last to expire stays where no other token is left, as without any everybody is let in. Files that are merged with
// each other become equal, in whatever order.
func Merge(text, other []byte) ([]byte, error) {
	all, err := parse(text)
	if err != nil {
		return nil, err
	}
	more, err := parse(other)
	if err != nil {
		return nil, err
	}
	all.Removed = append(append([]removed{}, all.Removed...), more.Removed...)
	slices.SortFunc(all.Removed, func(a, b removed) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.SHA256, b.SHA256)) })
	all.Removed = slices.CompactFunc(all.Removed, func(a, b removed) bool { return a.SHA256 == b.SHA256 && a.At.Equal(b.At) })
	all.Removed = all.Removed[max(0, len(all.Removed)-maxRemoved):]
	files := map[string]int{} // that have a token, by its hash: none means that it is not to be kept
	for _, t := range slices.Concat(all.Tokens, more.Tokens) {
		files[t.SHA256]++
	}
	for _, r := range all.Removed {
		delete(files, r.SHA256)
	}
	tokens, now := []Token{}, time.Now()
	var last *Token // to expire of those that have
	for _, t := range slices.Concat(all.Tokens, more.Tokens) {
		n := files[t.SHA256]
		delete(files, t.SHA256)
		switch {
		case n == 0:
		case t.Expires == nil || t.Expires.After(now) || n > 1 && t.Expires.After(now.Add(-expiredTime)):
			tokens = append(tokens, t)
		case last == nil || cmp.Or(t.Expires.Compare(*last.Expires), cmp.Compare(t.SHA256, last.SHA256)) > 0:
			last = &t
		}
	}
	if len(tokens) == 0 && last != nil {
		tokens = append(tokens, *last)
	}
	slices.SortStableFunc(tokens, func(a, b Token) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.SHA256, b.SHA256)) })
	all.Tokens = tokens
	return all.text()
}

// text returns the text of a file.
func (c *contents) text() ([]byte, error) {
	out, err := json.MarshalIndent(c, "", "  ")
	return append(out, '\n'), err
}

func change(path string, edit func([]Token) ([]Token, error)) error {
	var refused error // by edit
	err := file.Update(path, func(text []byte) ([]byte, error) {
		all, err := parse(text)
		if err != nil {
			return nil, err
		}
		before := slices.Clone(all.Tokens)
		if all.Tokens, refused = edit(all.Tokens); refused != nil {
			return nil, refused
		}
		for _, t := range before {
			if all.Removed != nil && !slices.ContainsFunc(all.Tokens, func(left Token) bool { return left.SHA256 == t.SHA256 }) {
				all.Removed = append(all.Removed, removed{t.SHA256, time.Now().UTC()})
			}
		}
		return all.text()
	}, nil)
	if err != nil && refused == nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}
