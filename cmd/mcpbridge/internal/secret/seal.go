package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
)

// The file is a line, "mcpbridge-sealed-1 PLACE ID", and what is sealed: the nonce, and JSON with the
// values by their names. PLACE says where the key is, ID which one it is. The line is sealed, too.
const format = "mcpbridge-sealed-1"

// errDamaged is the error of a file that is not as it was written.
var errDamaged = errors.New("damaged: restore it from a backup, or move it away and set its secrets anew")

// header returns the place and the id of the key of a file, and what is sealed.
func header(text []byte) (place, id string, line, sealed []byte, err error) {
	line, sealed, found := bytes.Cut(text, []byte("\n"))
	words := bytes.Fields(line)
	if !found || len(words) != 3 || string(words[0]) != format {
		return "", "", nil, nil, errDamaged
	}
	return string(words[1]), string(words[2]), line, sealed, nil
}

// open returns what a file has.
func (s *Store) open(text []byte) (map[string]value, error) {
	place, id, line, sealed, err := header(text)
	if err != nil {
		return nil, err
	}
	key, err := s.find(place, id)
	if err != nil {
		return nil, err
	}
	aead, err := key.aead()
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, line)
	if err != nil {
		return nil, errDamaged
	}
	all := map[string]value{}
	if json.Unmarshal(plain, &all) != nil {
		return nil, errDamaged
	}
	return all, nil
}

// seal returns the file for some values, in place of an older one.
func (s *Store) seal(old []byte, all map[string]value) ([]byte, error) {
	place, key, err := s.choose(old)
	if err != nil {
		return nil, err
	}
	aead, err := key.aead()
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(nil, "%s %s %s", format, place, key.id())
	return aead.Seal(append(bytes.Clone(line), '\n'), nil, plain, line), nil
}

// aead returns the cipher of a key, which puts a random nonce before what it seals.
func (k sealKey) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
