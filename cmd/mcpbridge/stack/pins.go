package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
)

// pin holds back what a server defines anew if its config says so.
func (s *Stack) pin(source bridge.Source, server *config.Server, opts *Options) bridge.Source {
	if !server.Pin || s.cfg.Path == "" {
		return source
	}
	if opts.Pins == "" {
		s.log.Warn("pin: there is no folder for what servers define: nothing is held back", "server", server.Name)
		return source
	}
	store := PinStore(opts.Pins, s.cfg.Path, server.Name)
	if opts.SharePins != nil {
		store = opts.SharePins(server.Name, store)
	}
	p := pins.New(source, pins.Options{
		Store:     store,
		Command:   commandFor(s.cfg, "pins", server.Name, ""),
		Log:       s.log.With("server", server.Name),
		Memory:    s.pool.memory(s.cfg.Path, server.Name),
		PerCaller: server.PerIdentity || server.Forward || server.OAuth.OfCaller,
	})
	s.pins[server.Name] = p
	return p
}

// memory returns what of a server of a config is known to this program only.
func (p *Pool) memory(config, server string) *pins.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{config, server}
	if p.memories[key] == nil {
		p.memories[key] = &pins.Memory{}
	}
	return p.memories[key]
}

// seen returns a server as its callers see it.
func (s *Stack) seen(u *use) bridge.Source {
	if p := s.pins[u.Name()]; p != nil {
		return p
	}
	return u
}

// define sets what a server with "pin" has defined last, less what is held back, as far as that is known.
func (s *Stack) define(st *ServerState) {
	if p := s.pins[st.Name]; p != nil {
		st.Held = p.Held()
		st.Tools, st.Prompts, st.About = p.Last(bridge.Tools), p.Last(bridge.Prompts), p.Instructions()
	}
}

// mostHeld bounds how many definitions of a server Problems names, of each kind of Problem.
const mostHeld = 10

// heldProblems names what is held back of a server, and counts what there is beyond mostHeld.
func (s *Stack) heldProblems(server string) (all []bridge.Problem) {
	counts := map[bool]int{} // by LeftOut
	for _, p := range s.heldBack(server) {
		if counts[p.LeftOut]++; counts[p.LeftOut] <= mostHeld {
			all = append(all, p)
		}
	}
	for _, leftOut := range []bool{false, true} {
		if more := counts[leftOut] - mostHeld; more > 0 {
			all = append(all, bridge.Problem{Text: fmt.Sprintf("%d more held back (%s)", more, commandFor(s.cfg, "pins", server, "")), LeftOut: leftOut})
		}
	}
	return all
}

// heldBack names what is held back of a server.
func (s *Stack) heldBack(server string) []bridge.Problem {
	if p := s.pins[server]; p != nil {
		return p.Problems()
	}
	return nil
}

// PinStore returns where the definitions of a server of a config are kept, in a file of a folder.
func PinStore(folder, config, server string) pins.Store {
	sum := sha256.Sum256([]byte(file.Real(config) + "\x00" + server))
	return pinFile(filepath.Join(folder, hex.EncodeToString(sum[:16])+".json"))
}

// pinFile is the name of a file that keeps definitions.
type pinFile string

// maxPins bounds a file of definitions, in bytes: those of a Book, and what stands around them.
const maxPins = 32 << 20

// Read implements pins.Store.
func (f pinFile) Read() ([]byte, error) { return file.ReadIfExists(string(f), maxPins) }

// Update implements pins.Store.
func (f pinFile) Update(change func(text []byte) ([]byte, error)) error {
	if err := file.Update(string(f), change, nil); err != nil {
		return fmt.Errorf("%s: %w", string(f), err)
	}
	return nil
}
