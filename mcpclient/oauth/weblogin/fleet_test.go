package weblogin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

var ann = Account{Server: "crm", Principal: "ann"}

// underWay puts a login of ann on a Desk, with the code that its page has shown.
func underWay(d *Desk, id, code string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logins == nil {
		d.logins = map[string]*login{}
	}
	d.logins[id] = &login{id: id, of: ann, expires: time.Now().Add(life), code: code}
}

// A code is one of all nodes: the one that knows most says what is wrong with it, and each counts those that are
// wrong.
func TestFinishOfNodes(t *testing.T) {
	var own, other Desk
	var away []Outcome
	own.SetFleet(Fleet{Finish: func(ctx context.Context, of Account, code string) []Outcome {
		if len(code) > codeLength+1 {
			t.Errorf("a code of %d bytes", len(code))
		}
		return append([]Outcome{{}, other.FinishHere(ctx, of, code)}, away...)
	}})
	expect := func(of Account, want string) {
		t.Helper()
		if _, err := own.Finish(t.Context(), of, "BBBB-BBBB"+strings.Repeat("B", 1<<20)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	expect(ann, "no login is under way")
	underWay(&other, "begun", "")
	expect(ann, "nobody has logged in so far")
	underWay(&other, "done", "BBBBBBBB")
	underWay(&own, "begun here", "")
	expect(ann, "that is not the code")
	expect(Account{Server: "crm", Principal: "bob"}, "no login is under way")
	for range mostTries - 1 {
		expect(ann, "that is not the code")
	}
	expect(ann, "nobody has logged in so far")
	away = []Outcome{{Stage: Away}}
	expect(ann, "a node of the bridge that may have this login does not answer")
	away = append(away, Outcome{Stage: failed, Fault: "it cannot be kept"})
	expect(ann, "it cannot be kept")
	away = append(away, Outcome{Stage: kept, Who: "ann@crm"})
	if who, err := own.Finish(t.Context(), ann, "AAAA-AAAA"); who != "ann@crm" || err != nil {
		t.Error(who, err)
	}
}

// Pages are those of the node that has the login, which the link and the state name.
func TestPagesOfNodes(t *testing.T) {
	var asked string
	var answered bool
	var fault error
	var d Desk
	d.SetFleet(Fleet{Elsewhere: func(w http.ResponseWriter, r *http.Request, id string, body []byte) (bool, error) {
		if asked = id; body == nil {
			t.Error("the body is not given")
		}
		if answered {
			w.WriteHeader(http.StatusTeapot)
		}
		return answered, fault
	}})
	open := func(method, address string) (status int, page string) {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(method, address, strings.NewReader("any")))
		return w.Code, w.Body.String()
	}
	for _, c := range []struct{ method, address string }{
		{http.MethodGet, "/login?id=some-id"}, {http.MethodPost, "/login?id=some-id"}, {http.MethodGet, "/login/callback?id=no&code=c&state=secret.some-id"},
	} {
		answered, fault = true, nil
		if status, _ := open(c.method, c.address); status != http.StatusTeapot || asked != "some-id" {
			t.Errorf("%s: %d of %q", c, status, asked)
		}
		answered = false
		if status, page := open(c.method, c.address); status < 400 || !strings.Contains(page, "This link has been used, or is older") {
			t.Errorf("%s of a node that has ended: %d, %s", c, status, page)
		}
		fault = toolformat.Errorf(toolformat.Unavailable, "away")
		if status, page := open(c.method, c.address); status != http.StatusServiceUnavailable || !strings.Contains(page, "try again") {
			t.Errorf("%s of a node that is away: %d, %s", c, status, page)
		}
		fault = errors.New("lost")
		if status, page := open(c.method, c.address); status != http.StatusBadGateway || !strings.Contains(page, "ask for another link") {
			t.Errorf("%s of a node that is lost: %d, %s", c, status, page)
		}
	}
}
