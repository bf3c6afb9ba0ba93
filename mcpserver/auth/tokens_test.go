package auth_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

func sum(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

func TestTokens(t *testing.T) {
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	tokens := auth.NewTokens([]auth.Token{
		{Name: "ann", Sum: sum("a")},
		{Name: "bob", Sum: sum("b"), Profiles: []string{"p", "q"}, Expires: future},
		{Name: "old", Sum: sum("o"), Expires: past},
	})
	if !tokens.Several() {
		t.Error("one principal")
	}
	var refused *auth.Refusal
	for text, want := range map[string]string{"a": "ann", "b": "bob", "": "", "A": "", strings.Repeat("a", 1<<20): ""} {
		id, err := tokens.Authenticate(t.Context(), &auth.Credentials{Token: text})
		if err != nil || (id == nil) != (want == "") || id != nil && id.Principal.Name != want {
			t.Errorf("%.9q: %v, %v", text, id, err)
		}
	}
	if id, err := tokens.Authenticate(t.Context(), &auth.Credentials{Token: "o"}); id != nil || !errors.As(err, &refused) {
		t.Errorf("an expired token: %v, %v", id, err)
	}
	bob, _ := tokens.Authenticate(t.Context(), &auth.Credentials{Token: "b"})
	if !bob.Expires.Equal(future) || len(bob.Profiles) != 2 || !tokens.Admits(bob.Credential) {
		t.Errorf("bob is %+v", bob)
	}
	for _, changed := range []auth.Token{
		{Name: "bob", Sum: sum("B"), Profiles: []string{"p", "q"}},
		{Name: "bob", Sum: sum("b"), Profiles: []string{"p"}},
		{Name: "bob", Sum: sum("b"), Profiles: []string{"p", "q"}, Expires: past},
	} {
		if auth.NewTokens([]auth.Token{changed}).Admits(bob.Credential) {
			t.Errorf("%+v still admits bob", changed)
		}
	}
}
