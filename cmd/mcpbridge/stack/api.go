package stack

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// An APIState is the state of an API of native tools.
type APIState struct {
	Name, Type string
	Tools      int   // that use it
	Connected  bool  // whether it was connected; of an API of HTTP, whether it gave an access token
	Err        error // why it cannot be used
}

// String describes the state in one line.
func (st APIState) String() string {
	if st.Err != nil {
		return fmt.Sprintf("api %s: %v", st.Name, st.Err)
	}
	state, tools := "loaded", "tools"
	if st.Connected {
		state = "ready"
	}
	if st.Tools == 1 {
		tools = "tool"
	}
	return fmt.Sprintf("api %s: %s (%s, %d %s)", st.Name, state, st.Type, st.Tools, tools)
}

// CheckAPIs connects the APIs of native tools that have a connection, such as databases, and
// returns the states of all, in file order. It must not run concurrently with Close.
func (s *Stack) CheckAPIs(ctx context.Context) []APIState {
	n := s.natives
	var all []APIState
	var pings sync.WaitGroup
	for i := range n.apis {
		if n.apis[i].Type == "openapi" { // its document was left out, which is a problem of its own
			continue
		}
		all = append(all, APIState{Name: n.apis[i].Name, Type: n.apis[i].Type, Tools: n.users[n.apis[i].Name]})
	}
	for i := range all {
		st := &all[i]
		ping, err := n.pingOf(st.Name)
		if st.Err = err; ping != nil {
			st.Connected = true
			pings.Go(func() { st.Err = ping(ctx) })
		}
	}
	pings.Wait()
	return all
}

// pingOf returns the method of an API's backend that connects it; nil if it has none.
func (n *nativeLoader) pingOf(name string) (func(context.Context) error, error) {
	api, err := n.api(name)
	if err != nil {
		return nil, err
	}
	kind := n.kind(api.Type)
	if kind == nil {
		return nil, n.unknownType(api)
	}
	backend, err := n.backend(kind, api)
	if err != nil {
		return nil, err
	}
	if b, ok := backend.(interface{ Ping(context.Context) error }); ok {
		return b.Ping, nil
	}
	if login := n.logins[name]; login != nil {
		return func(ctx context.Context) error {
			_, err := login.Authorization(ctx)
			return err
		}, nil
	}
	return nil, nil
}

func (n *nativeLoader) unknownType(api *config.API) error {
	return fmt.Errorf("unknown type %s (known: %s)", hint.Quote(api.Type), n.namesWith("openapi"))
}
