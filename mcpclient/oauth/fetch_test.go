package oauth

import (
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"testing"
)

func TestAddresses(t *testing.T) {
	public, err := New(Config{Server: "https://mcp.example.com/mcp", Store: newMemory()})
	if err != nil {
		t.Fatal(err)
	}
	public.fetch.private = func() bool { return false }
	internal, err := New(Config{Server: "https://10.1.2.3/mcp", Store: newMemory()})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		address          string
		public, internal bool
	}{
		{"93.184.216.34", true, true},
		{"2606:2800:220:1::1", true, true},
		{"10.0.0.1", false, true},
		{"192.168.1.1", false, true},
		{"169.254.169.254", false, true},
		{"100.64.0.1", false, true},
		{"fd00::1", false, true},
		{"fe80::1", false, true},
		{"127.0.0.1", false, false},
		{"::1", false, false},
		{"::ffff:127.0.0.1", false, false},
		{"::ffff:10.0.0.1", false, true},
		{"64:ff9b::a00:1", false, true},
		{"2002:7f00:1::", false, true},
		{"0.0.0.0", false, true},
		{"255.255.255.255", false, true},
	} {
		ip := netip.MustParseAddr(test.address)
		if got := public.fetch.checkAddress(ip) == nil; got != test.public {
			t.Errorf("%s from a public server: %v", ip, got)
		}
		if got := internal.fetch.checkAddress(ip) == nil; got != test.internal {
			t.Errorf("%s from a server in the network: %v", ip, got)
		}
	}
	for _, address := range []string{
		"https://10.0.0.1/token", "https://[::1]/", "http://auth.example.com/", "https://user@auth.example.com/", "https://auth.example.com/#x",
		"https:///token", "ftp://auth.example.com/", "data:text/html,x", "javascript:alert(1)", "//auth.example.com", "", "https://localhost.:1/\x00",
	} {
		if u, err := public.fetch.parse("it", address); err == nil {
			t.Errorf("%q may be requested", u)
		}
	}
	// A name that leads into the network is refused when it is dialed.
	r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "localhost:1"}, Header: http.Header{}}
	wantError(t, public.fetch.send(r, nil), "refused to connect to")
}

func TestPlainServer(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://a.example/mcp": true, "wss://a.example/ws": true, "http://localhost:1/mcp": true, "ws://127.0.0.1:1/": true,
		"http://a.example/mcp": false, "http://10.0.0.1/mcp": false, "ws://a.example/": false,
	} {
		if _, err := New(Config{Server: address}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for address, want := range map[string]string{
		"https://A.example/": "https://a.example", "https://a.example/mcp/": "https://a.example/mcp/", "wss://a.example:8443/x?y=1": "https://a.example:8443/x?y=1",
	} {
		c, err := New(Config{Server: address})
		if err != nil || c.identifier() != want {
			t.Errorf("%s: %q, %v", address, c.identifier(), err)
		}
	}
}

func TestChallenge(t *testing.T) {
	for text, want := range map[string]challenge{
		``:       {},
		`Bearer`: {found: true},
		`bearer realm="a, b", Scope="x y",resource_metadata=https://a.example/m`: {found: true, scopes: []string{"x", "y"}, metadata: "https://a.example/m"},
		`Basic realm="Bearer scope=\"z\"", Bearer error = "insufficient_scope"`:  {found: true, other: true, fault: "insufficient_scope"},
		`Negotiate dG9rZW4=, Bearer scope=a`:                                     {found: true, other: true, scopes: []string{"a"}},
		`Bearer scope="unfinished`:                                               {found: true, scopes: []string{"unfinished"}},
	} {
		if got := parseChallenge(refusal(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, text := range []string{`Bearer scope="a b", error=x`, `A b=c, "`, `,,= "\`, "Bearer \x80=\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseChallenge(http.Header{"Www-Authenticate": {text}})
		if !c.found && (c.metadata != "" || c.scopes != nil || c.fault != "") {
			t.Errorf("%q: parameters without a challenge", text)
		}
	})
}

func TestWellKnown(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example": "https://a.example/.well-known/x", "https://a.example/": "https://a.example/.well-known/x", "https://a.example/t/u/": "https://a.example/.well-known/x/t/u",
	} {
		u, _ := url.Parse(address)
		if got := wellKnown(u, "x").String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
