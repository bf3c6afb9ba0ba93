package weblogin

import (
	"context"
	"errors"
	"testing"
)

// TestManyLinks asks for one link after the other, as a model does that calls the tools of a server again and again:
// the login at which a person is goes on.
func TestManyLinks(t *testing.T) {
	var d Desk
	d.SetBase("https://bridge.example.com")
	underWay(&d, "in use", "")
	d.logins["in use"].cookie = "of the browser"
	for range 2 * mostLogins {
		if _, err := d.Begin(ann, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.logins) != mostLogins || d.logins["in use"] == nil {
		t.Errorf("%d logins are under way, which have that of a person: %v", len(d.logins), d.logins["in use"] != nil)
	}
	for _, l := range d.logins {
		l.cookie = "of another browser"
	}
	if _, err := d.Begin(ann, nil, nil); err != nil || len(d.logins) != mostLogins {
		t.Errorf("%d logins are under way, %v", len(d.logins), err)
	}
}

// TestGone asks no authorization server for a browser that has gone before its turn came.
func TestGone(t *testing.T) {
	var d Desk
	underWay(&d, "id", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.leave(ctx, "id", ""); !errors.Is(err, context.Canceled) || d.logins["id"].cookie != "" {
		t.Errorf("%v, and the login is of the browser %q", err, d.logins["id"].cookie)
	}
}
