package rest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// A Spec is what a definition says of its request. In each template {name} stands for
// the argument of that name; null counts as absent but in a body.
type Spec struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE, in any letter case.
	Method string `json:"method"`

	// Path is behind the API's url. Before the first ? an argument is percent-encoded
	// within its segment, and must be there; it may have slashes in it, which are
	// encoded, but is refused when it is empty or a dot segment. Behind the ? a pair
	// with a placeholder is left out when its argument is absent, and repeated for each
	// item of an array; an object is JSON. All the rest stays, in that order.
	Path string `json:"path"`

	// Headers are templates; one is left out when an argument of it is absent. An
	// argument that could not stand in a header is refused.
	Headers map[string]string `json:"headers,omitempty"`

	// Body is what the request's body is: "json", an object of the arguments that have
	// no other place; "form", the same as a form (application/x-www-form-urlencoded);
	// "{name}", one argument as JSON; "none". Default: none for GET and HEAD, else json
	// when there are such arguments.
	Body string `json:"body,omitempty"`

	// Join says for arguments in the query how their parts stand together: "," or
	// another text between the items of an array, "[]" for the members of an object as
	// pairs of their own: filter[color]=red.
	Join map[string]string `json:"join,omitempty"`

	// Select is a JSON Pointer (RFC 6901): only that part of the answer is the result.
	Select string `json:"select,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // of a call, its retries included; default the API's
}

// The values of Spec.Body besides a placeholder.
const (
	bodyAuto = ""
	bodyJSON = "json"
	bodyForm = "form"
	bodyNone = "none"
)

// A tool is a Spec that can be called.
type tool struct {
	backend   *backend
	name      string
	hasOutput bool // it has an output schema

	method  string
	pattern string // the path as written, for errors
	path    []template
	query   []template
	headers []header
	join    map[string]string
	body    string
	payload string // the argument that is the body
	sel     native.Pointer
	used    map[string]bool // arguments that have a place outside of the body
}

type header struct {
	name  string
	value template
}

func (s *Spec) compile() (*tool, error) {
	t := &tool{method: strings.ToUpper(s.Method), join: s.Join, body: s.Body, used: map[string]bool{}}
	switch t.method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	case "":
		return nil, errors.New("method is empty: expected GET, HEAD, POST, PUT, PATCH or DELETE")
	default:
		return nil, fmt.Errorf("method: %s is not supported: expected GET, HEAD, POST, PUT, PATCH or DELETE", native.Short(s.Method))
	}
	for _, compile := range []func(*Spec) error{t.compilePath, t.compileHeaders, t.compileJoin, t.compileBody} {
		if err := compile(s); err != nil {
			return nil, err
		}
	}
	var err error
	t.sel, err = native.ParsePointer(s.Select)
	return t, err
}

func (t *tool) compilePath(s *Spec) error {
	t.pattern, _, _ = strings.Cut(s.Path, "?")
	switch {
	case s.Path == "":
		return errors.New("path is empty: expected what is behind the API's url, such as /users/{id}")
	case strings.Contains(s.Path, "://"):
		if scheme, _, _ := strings.Cut(s.Path, "://"); !strings.ContainsAny(scheme, "/?{") {
			return errors.New("path is a whole URL: where the API is stands in the config; expected what is behind it, such as /users/{id}")
		}
	}
	whole, err := parseTemplate(s.Path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if _, _, found := whole.cut("#"); found {
		return errors.New("path: a fragment (#…) is never sent; a number sign itself is %23")
	}
	path, query, _ := whole.cut("?")
	if len(path) > 0 && !strings.HasPrefix(path[0].text, "/") {
		path = slices.Insert(path, 0, part{text: "/"}) // else it could be part of the host
	}
	if err := errors.Join(path.escapeLiterals(pathLiterals+"/"), query.escapeLiterals(queryLiterals)); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if len(path) > 0 {
		t.path = path.split("/")[1:]
	}
	if len(query) > 0 {
		t.query = query.split("&")
	}
	t.use(path, query)
	return nil
}

func (t *tool) use(templates ...template) {
	for _, tpl := range templates {
		for _, name := range tpl.names() {
			t.used[name] = true
		}
	}
}

func (t *tool) compileHeaders(s *Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if err := httpapi.CheckHeader(name, s.Headers[name]); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
		value, err := parseTemplate(s.Headers[name])
		if err != nil {
			return fmt.Errorf("headers: %s: %w", name, err)
		}
		t.headers = append(t.headers, header{name, value})
		t.use(value)
	}
	return nil
}

// compileJoin checks that what is joined stands in the query, and can be.
func (t *tool) compileJoin(s *Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Join)) {
		i := slices.IndexFunc(t.query, func(pair template) bool { return slices.Contains(pair.names(), name) })
		switch {
		case i < 0:
			return fmt.Errorf("join: {%s} is not in the query", name)
		case s.Join[name] == "":
			return fmt.Errorf(`join: what stands between the items of %s is empty: expected "," or the like, or "[]"`, name)
		case s.Join[name] == "[]" && !isPair(t.query[i]):
			return fmt.Errorf(`join: "[]" is for a pair such as %s={%s}`, name, name)
		}
	}
	return nil
}

// isPair reports whether a template is key={name}, with nothing else.
func isPair(t template) bool {
	return len(t) == 2 && t[1].name != "" && strings.HasSuffix(t[0].text, "=")
}

func (t *tool) compileBody(s *Spec) error {
	switch s.Body {
	case bodyAuto:
		if t.method == http.MethodGet || t.method == http.MethodHead {
			t.body = bodyNone
		}
		return nil
	case bodyJSON, bodyForm, bodyNone:
	default:
		whole, err := parseTemplate(s.Body)
		if err != nil || len(whole) != 1 || whole[0].name == "" {
			return fmt.Errorf(`body: expected "json", "form", "none" or one placeholder such as "{document}", got %q`, native.Short(s.Body))
		}
		t.payload = whole[0].name
		t.use(whole)
	}
	if s.Body != bodyNone && (t.method == http.MethodGet || t.method == http.MethodHead) {
		return fmt.Errorf("body: a %s has none (RFC 9110, 9.3.1)", t.method)
	}
	return nil
}
