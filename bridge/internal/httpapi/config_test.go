package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// client returns the client of a config, for a kind named http.
func client(config string, log *slog.Logger) (*Client, error) {
	cfg := bridge.BackendConfig{Name: "shop", Config: json.RawMessage(config), Log: log}
	api, err := Decode[Config]("http", cfg)
	if err != nil {
		return nil, err
	}
	return api.Client(Options{Kind: "http", Header: http.Header{"Accept": {"text/plain"}}, SeeOther: true}, cfg)
}

// No error about a config shows its secrets.
func TestConfigErrors(t *testing.T) {
	const secret = "s3cr3t"
	for config, want := range map[string]string{
		`{"url":""}`:                                             "url is empty",
		`{}`:                                                     "url",
		`{"url":"ftp://s3cr3t@h"}`:                               "expected http:// or https://",
		`{"url":"http://u:s3cr3t@h:x"}`:                          "not a URL",
		`{"url":"http://s3cr3t:%zz@h"}`:                          "not a URL",
		`{"url":"https://?s3cr3t"}`:                              "expected a host",
		`{"url":"127.0.0.1:80"}`:                                 "url: not a URL: expected http:// or https://",
		`{"url":"https://u:s3cr3t@h:65536"}`:                     "a port from 1 to 65535",
		`{"url":"https://h:0"}`:                                  "a port from 1 to 65535",
		`{"url":"https://h/#s3cr3t"}`:                            "fragment",
		`{"url":"https://h","type":"graphql"}`:                   `type is "graphql", not http`,
		`{"url":"https://h","maxBytes":-1}`:                      "maxBytes",
		`{"url":"https://h","maxConnections":-1}`:                "maxConnections",
		`{"url":"https://h","timeout":"soon"}`:                   "timeout: expected a duration",
		`{"url":"https://h","auth":["s3cr3t"]}`:                  "auth: expected",
		`{"url":"https://h","auth":{"baerer":"s3cr3t"}}`:         "auth: expected",
		`{"url":"https://h","auth":{"bearer":["s3cr3t"]}}`:       "auth: expected",
		`{"url":"https://h","auth":"s3cr3t\n"}`:                  "auth: the value of Authorization has a line break",
		`{"url":"https://h","auth":{"bearer":"s3cr3t\r\nX: y"}}`: "line break",
		`{"url":"https://h","auth":{"bearer":"a","basic":{}}}`:   "auth: expected",
		`{"url":"https://h","auth":{"basic":{"username":"a:b","password":"s3cr3t"}}}`: "auth: a username of basic must not have a colon",
		`{"url":"https://h","auth":{"header":{"name":"Host","value":"s3cr3t"}}}`:      "auth: the header Host cannot be set",
		`{"url":"https://h","headers":{"Host":"s3cr3t"}}`:                             "belongs to the connection",
		`{"url":"https://h","headers":{"X-Key":["s3cr3t"]}}`:                          "headers: expected an object of strings",
		`{"url":"https://h","headers":{"X-Key":"s3cr3t\n"}}`:                          "headers: the value of X-Key has a line break",
		`{"url":"https://h","headers":{"X Key":"s3cr3t"}}`:                            "is not a header name",
		`{"ulr":"https://h"}`: "url",
	} {
		_, err := client(config, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
	if _, err := Decode[Config]("http", bridge.BackendConfig{Name: "shop"}); err == nil || !strings.HasPrefix(err.Error(), "http: api shop: the config has no such API") {
		t.Errorf("without an API: %v", err)
	}
}

func TestConfig(t *testing.T) {
	c, err := client(`{"type":"HTTP","url":"https://h/v1?key=k","timeout":1.5,"maxBytes":7,"headers":{"x-a":"1"},"auth":"x"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "shop" || c.URL.String() != "https://h/v1?key=k" || c.Timeout != 1500*time.Millisecond || c.MaxBytes != 7 {
		t.Errorf("%+v", c)
	}
	if got := fmt.Sprint(c.Header); got != "map[Accept:[text/plain] Authorization:[x] User-Agent:[mcpbridge] X-A:[1]]" {
		t.Errorf("headers %s", got)
	}
	if c, err = client(`{"url":"https://h","headers":{"Accept":"a","user-agent":"b"}}`, nil); err != nil || c.Header.Get("Accept") != "a" || c.Header.Get("User-Agent") != "b" || c.MaxBytes != defaultMaxBytes {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAuth(t *testing.T) {
	for auth, want := range map[string][2]string{
		`"Token abc"`:    {"Authorization", "Token abc"},
		`{"bearer":"x"}`: {"Authorization", "Bearer x"},
		`{"basic":{"username":"u","password":"p:é"}}`: {"Authorization", "Basic dTpwOsOp"},
		`{"header":{"name":"X-Key","value":"k"}}`:     {"X-Key", "k"},
		`""`: {"Authorization", ""},
	} {
		c, err := client(`{"url":"https://h","auth":`+auth+`}`, nil)
		if err != nil || c.Header.Get(want[0]) != want[1] {
			t.Errorf("%s: %v, %v", auth, c, err)
		}
	}
	var a auth
	if err := json.Unmarshal([]byte(`"s3cr3t"`), &a); err != nil || strings.Contains(fmt.Sprintf("%v %s %+v", a, a, &a), "s3cr3t") {
		t.Errorf("%v: a formatting shows the secret", err)
	}
}

// Credentials that are sent unencrypted cause a warning, unless they stay on this machine.
func TestPlainAuth(t *testing.T) {
	for config, want := range map[string]bool{
		`{"url":"http://h","auth":"x"}`:                 true,
		`{"url":"http://u:p@h"}`:                        true,
		`{"url":"http://h"}`:                            false,
		`{"url":"https://h","auth":"x"}`:                false,
		`{"url":"http://127.0.0.1:80","auth":"x"}`:      false,
		`{"url":"http://[::1]","auth":"x"}`:             false,
		`{"url":"http://a.localhost","auth":"x"}`:       false,
		`{"url":"http://localhost.example","auth":"x"}`: true,
	} {
		var log bytes.Buffer
		if _, err := client(config, slog.New(slog.NewTextHandler(&log, nil))); err != nil || strings.Contains(log.String(), "without encryption") != want {
			t.Errorf("%s: %v, %s", config, err, &log)
		}
	}
}
