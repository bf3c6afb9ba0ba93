package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind rest. An API of the config is an [API], the spec of a definition a [Spec].
var Kind = bridge.NativeKind{Name: kindName, Spec: reflect.TypeFor[Spec](), Open: open}

const kindName = "rest"

// An API describes a REST API in the config. The path and the query of its url precede those of
// every tool.
type API struct {
	httpapi.Config

	Retries *int   `json:"retries,omitempty"` // of an idempotent request, after the first attempt; default 2, at most 10
	Files   string `json:"files,omitempty"`   // folder of the files that calls may upload, and all below it; "" means none
}

const (
	defaultRetries = 2
	maxRetries     = 10
)

// backend is an open API.
type backend struct {
	*httpapi.Client
	basePath string // of the URL, escaped, without a slash at its end
	retries  int
	hidden   []string // names of the config's hidden values
	files    string   // absolute, or ""
	cookies  taken    // names of the cookies
	taken    taken    // names in the URL's query
	specs    bridge.SpecDecoder[Spec]
}

// open returns a backend without connecting.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	retries := defaultRetries
	if api.Retries != nil {
		retries = *api.Retries
	}
	if retries < 0 || retries > maxRetries {
		return nil, fmt.Errorf("%s: retries: expected 0 to %d, got %d", cfg.Subject(kindName), maxRetries, retries)
	}
	client, err := api.Client(httpapi.Options{
		Kind:     kindName,
		Header:   http.Header{"Accept": {"application/json, text/*;q=0.9, */*;q=0.8"}},
		SeeOther: true,
	}, cfg)
	if err != nil {
		return nil, err
	}
	b := &backend{
		Client: client, basePath: strings.TrimSuffix(client.URL.EscapedPath(), "/"), retries: retries,
		hidden: cfg.Hidden, cookies: taken{}, taken: taken{},
	}
	for name := range client.URL.Query() {
		b.taken[fold(name)] = true
	}
	for cookie := range strings.SplitSeq(client.Header.Get("Cookie"), ";") {
		name, _, _ := strings.Cut(cookie, "=")
		b.cookies[fold(strings.TrimSpace(name))] = true
	}
	if b.files = api.Files; b.files != "" {
		if !filepath.IsAbs(b.files) {
			b.files = filepath.Join(cfg.Dir, b.files)
		}
		if b.files, err = filepath.Abs(b.files); err != nil {
			return nil, fmt.Errorf("%s: files: %w", cfg.Subject(kindName), err)
		}
	}
	return b, nil
}

// Tool implements bridge.Backend. The notes name placeholders that are not properties, and
// properties that no request ever contains.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	s, err := b.specs.Decode(kindName, spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t, err := s.compile()
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("%s: %w", kindName, err)
	}
	t.backend, t.definition = b, definition
	return bridge.Tool{
		Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), b.Timeout), Cancelable: true, Call: t.call,
		Placeholders: slices.Sorted(maps.Keys(t.used)),
		ReadOnly:     t.isSafe(),
		Idempotent:   t.method == http.MethodPut || t.method == http.MethodDelete, // section 9.2.2
	}, t.notes(), nil
}

// isSafe reports whether requests of a method only read and have no body (RFC 9110, sections 9.2.1 and 9.3.1).
func (t *tool) isSafe() bool { return t.method == http.MethodGet || t.method == http.MethodHead }

// call implements bridge.Tool.Call.
func (t *tool) call(ctx context.Context, raw json.RawMessage) (*toolformat.Result, error) {
	req, err := t.request(ctx, readArguments(raw))
	if err != nil {
		return nil, err
	}
	call := httpapi.Call{Tool: t.definition.Name, Retries: t.retries, Convert: t.convert}
	if t.method == http.MethodPost || t.method == http.MethodPatch { // not idempotent (RFC 9110, section 9.2.2)
		call.Effect, call.Retries = "request", 0
	}
	return t.Do(req, call)
}

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // a placeholder is not a property, or an optional one in the path
	ruleUnused      = "unused"      // no request ever contains the property
)

// notes lists what is legal in a definition and probably a mistake.
func (t *tool) notes() []toolformat.Note {
	n := native.NewNotes(t.definition, t.hidden)
	for _, name := range slices.Sorted(maps.Keys(t.used)) {
		inPath := slices.ContainsFunc(t.path, func(segment template) bool { return slices.Contains(segment.names(), name) })
		switch {
		case !n.Known(name):
			effect := "it is omitted from every request"
			if inPath {
				effect = "every call fails without it"
			}
			n.Add("/rest", rulePlaceholder, "the placeholder {%s} is not a property%s; %s", name, native.Suggest("{%s}", name, n.Properties), effect)
		case inPath && n.IsOptional(name):
			n.AddProperty(name, rulePlaceholder, "%s is in the path and not required: a call without it fails", name)
		}
	}
	if t.body != bodyNone && t.payload == "" {
		return n.All
	}
	why := `its body is "none"`
	switch {
	case t.payload != "":
		why = "the body is {" + t.payload + "}"
	case t.isSafe():
		why = "a " + t.method + " has no body"
	}
	for _, name := range n.Names() {
		if !t.used[name] {
			n.AddProperty(name, ruleUnused, "%s is ignored, as the request has no place for it: %s", name, why)
		}
	}
	return n.All
}
