package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/account"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var errLogin = errors.New("no login")

// logins are those of a server at which nobody is logged in.
type logins struct{}

func (logins) Own(bridge.Principal) bool { return true }
func (logins) Helps(cause error) bool    { return cause == errLogin }
func (logins) Begin(context.Context, bridge.Principal, error) (string, error) {
	return "http://127.0.0.1:1/login?id=x", nil
}
func (logins) Finish(context.Context, bridge.Principal, string) (string, error) { return "", nil }

// away is a server whose login has ended: it has one error for all, and perhaps the last list.
type away struct {
	fault *toolformat.Error
	last  *bridge.List
}

func (s *away) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return s, nil }
func (s *away) Close() error                                                 { return nil }
func (s *away) List(context.Context, bridge.ListKind) (*bridge.List, error)  { return s.last, s.fault }
func (s *away) Do(context.Context, *bridge.Request) bridge.Reply             { return bridge.Failed(s.fault) }

// A caller whose login has ended sees the tool by which it logs in, with the tools that were there, whatever it has
// called before. The error of a call has a link.
func TestEndedLogin(t *testing.T) {
	list := bridge.NewList(bridge.Tools, []bridge.Item{{Key: "read", Raw: []byte(`{"name":"read"}`)}})
	for _, last := range []*bridge.List{nil, list} {
		fault := &toolformat.Error{Code: toolformat.Unavailable, Message: "run mcpbridge login", Cause: errLogin}
		s, err := account.Wrap(&away{fault, last}, "crm", logins{}).Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l, err := s.List(t.Context(), bridge.Tools)
			if err != nil || l.Items[0].Key != account.Tool || len(l.Items) > 1 != (last != nil) {
				t.Errorf("the list is %+v, %v", l, err)
			}
			reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsList})
			if page := string(reply.Result); !strings.Contains(page, account.Tool) || strings.Contains(page, `"read"`) != (last != nil) {
				t.Errorf("the page is %s, %v", page, reply.Err)
			}
			reply = s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover})
			if wire.Lookup(reply.Result, "capabilities", "tools") == nil {
				t.Errorf("the description is %s, %v", reply.Result, reply.Err)
			}
			reply = s.Do(t.Context(), &bridge.Request{Method: wire.MethodResourcesRead})
			if reply.Err == nil || reply.Err.Cause != nil {
				t.Errorf("without a target: %+v", reply.Err)
			}
			reply = s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "read"})
			if reply.Err == nil || !strings.Contains(reply.Err.Message, "open http://127.0.0.1:1/login?id=x in a browser") {
				t.Errorf("the call: %v", reply.Err)
			}
		}
	}
	other := &away{toolformat.Errorf(toolformat.Unavailable, "away"), list}
	s, err := account.Wrap(other, "crm", logins{}).Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.List(t.Context(), bridge.Tools); err == nil || len(l.Items) != 2 {
		t.Errorf("of a server that is away: %+v, %v", l, err)
	}
	if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}); reply.Err == nil {
		t.Errorf("a server that is away is %s", reply.Result)
	}
}
