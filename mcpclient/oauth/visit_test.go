package oauth

import (
	"encoding/base64"
	"net/url"
	"testing"
)

// TestSecondAnswer: a login has nothing of an answer whose place another one has taken, and all of one after which another
// one was refused.
func TestSecondAnswer(t *testing.T) {
	f := newFake(t)
	f.grant = func(form url.Values) (int, string) {
		switch form.Get("code") {
		case "of ann":
			return 200, `{"access_token":"access","refresh_token":"refresh","scope":"all","id_token":"x.` + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"ann"}`)) + `.x"}`
		case "of bob":
			return 200, `{"access_token":"other"}`
		}
		return 400, `{"error":"invalid_grant"}`
	}
	c := f.client(t, newMemory(), func(cfg *Config) { cfg.Identity = "joe" })
	_, cause := c.Refused(t.Context(), "", 401, refusal("Bearer"), true)
	v, err := c.Visit(t.Context(), "https://bridge.example.com/login/callback", "some-id", cause)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(code string) (who string, err error) {
		return v.Answer(t.Context(), url.Values{"code": {code}, "state": {v.State()}})
	}
	if who, err := answer("of ann"); who != "ann" || err != nil {
		t.Errorf("%q, %v", who, err)
	}
	if _, err := answer("of nobody"); err == nil || v.token.Access != "access" || v.token.Subject != "ann" {
		t.Errorf("%v, and %+v is left", err, v.token)
	}
	if who, err := answer("of bob"); who != "" || err != nil || v.token.Refresh != "" || len(v.token.Granted) > 0 {
		t.Errorf("%q, %v, with %+v", who, err, v.token)
	}
}
