package profile

import (
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

func TestAnnotations(t *testing.T) {
	for _, c := range []struct {
		want        map[string]bool
		annotations string
		untrusted   bool
		ok          bool
	}{
		{map[string]bool{"readOnlyHint": true}, `{"readOnlyHint":true}`, false, true},
		{map[string]bool{"readOnlyHint": true}, `{"readOnlyHint":true}`, true, false},
		{map[string]bool{"readOnlyHint": true}, `{"readOnlyHint":"true"}`, false, false},
		{map[string]bool{"readOnlyHint": true}, `{}`, false, false},
		{map[string]bool{"readOnlyHint": false}, `null`, false, true},
		{map[string]bool{"destructiveHint": false}, `{}`, false, false},
		{map[string]bool{"destructiveHint": false}, `{"destructiveHint":false}`, false, true},
		{map[string]bool{"destructiveHint": false}, `{"readOnlyHint":true,"destructiveHint":true}`, false, true},
		{map[string]bool{"idempotentHint": true}, `{"readOnlyHint":true}`, false, true},
		{map[string]bool{"openWorldHint": false}, `{}`, false, false},
		{map[string]bool{"readOnlyHint": true, "openWorldHint": false}, `{"readOnlyHint":true}`, false, false},
	} {
		p := Profile{Annotations: c.want}
		it := bridge.Item{Key: "x", Raw: []byte(`{"name":"x","annotations":` + c.annotations + `}`), Untrusted: c.untrusted}
		if got := p.admit(bridge.Tools, &it); got != c.ok {
			t.Errorf("%v of %s: %t", c.want, c.annotations, got)
		}
	}
}

func TestFits(t *testing.T) {
	claims := `{"sub":"u-1","groups":["staff",["x"],{"y":1},7],"admin":true,"scope":"read write"}`
	for _, c := range []struct {
		profile   Profile
		principal string
		want      bool
	}{
		{Profile{}, "", true},
		{Profile{Principals: []string{"*"}}, "", true},
		{Profile{Principals: []string{"a*", "bob"}}, "ann", true},
		{Profile{Principals: []string{"a*", "bob"}}, "", false},
		{Profile{Principals: []string{"a*"}, Claims: map[string][]string{"groups": {"st*"}}}, "ann", true},
		{Profile{Principals: []string{"b*"}, Claims: map[string][]string{"groups": {"st*"}}}, "ann", false},
		{Profile{Claims: map[string][]string{"groups": {"st*"}, "admin": {"false"}}}, "ann", false},
		{Profile{Claims: map[string][]string{"groups": {"7"}, "admin": {"true"}, "scope": {"*write*"}}}, "ann", true},
		{Profile{Claims: map[string][]string{"email": {"*"}}}, "ann", false},
		{Profile{Claims: map[string][]string{"groups": {"*y*"}}}, "ann", false},
	} {
		caller := bridge.Caller{Principal: bridge.Principal{Name: c.principal}, Claims: []byte(claims)}
		if got := c.profile.fits(&caller); got != c.want {
			t.Errorf("%+v for %q: %t", c.profile, c.principal, got)
		}
		caller.Claims = nil
		if c.profile.Claims != nil && c.profile.fits(&caller) {
			t.Errorf("%+v fits without claims", c.profile)
		}
	}
}

func TestHiddenValues(t *testing.T) {
	s := profiled{opts: Options{Claims: map[string]string{"customerid": "sub", "mail": "email"}}}
	p := &Profile{Context: map[string]json.RawMessage{"tenant": json.RawMessage(`7`)}}
	value := s.hidden(p, &bridge.Caller{Claims: []byte(`{"sub":"u-1"}`), HiddenValue: func(name string) ([]byte, bool) {
		return []byte(`"sent"`), name != "other"
	}})
	for name, want := range map[string]string{"Tenant": "7", "CustomerID": `"u-1"`, "mail": "", "header": `"sent"`, "other": ""} {
		if got, ok := value(name); ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %t", name, got, ok)
		}
	}
}
