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
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Spec describes the request of a tool. In each template, {name} stands for the argument of that
// name. A null argument counts as absent except in a body.
type Spec struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE, in any letter case.
	Method string `json:"method"`

	// Path is appended to the API's url. Before the first ?, an argument is required and
	// percent-encoded within its segment: slashes in it are encoded, an empty one or a dot
	// segment is refused. After the ?, a pair with a placeholder is omitted if its argument is
	// absent, and repeated for each item of an array; an object is sent as JSON. Literal text
	// stays in its place.
	Path string `json:"path"`

	// Headers are templates by name. A header is omitted if an argument in it is absent. An
	// argument that is not valid in a header is refused.
	Headers map[string]string `json:"headers,omitempty"`

	// Body is the kind of body: "json", an object of the arguments that have no other place;
	// "form", the same as a form (application/x-www-form-urlencoded); "{name}", one argument as
	// JSON; "none". The default is none for GET and HEAD, else json if there are such arguments.
	Body string `json:"body,omitempty"`

	// Join maps arguments in the query to how their parts are joined: by "," or another text
	// between the items of an array, or with "[]" as a pair for each member of an object, as in
	// filter[color]=red.
	Join map[string]string `json:"join,omitempty"`

	// Select is a JSON Pointer (RFC 6901) to the part of the answer that is the result.
	Select string `json:"select,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // bounds a call with its retries; default the API's
}

// The values of Spec.Body besides a placeholder.
const (
	bodyAuto = ""
	bodyJSON = "json"
	bodyForm = "form"
	bodyNone = "none"
)

// A tool is a compiled Spec.
type tool struct {
	*backend
	definition toolformat.Tool

	method  string
	pattern string // the path as written, for errors
	path    []template
	query   []template
	headers []header
	join    map[string]string
	body    string // Spec.Body
	payload string // name of the argument that is the body
	sel     native.Pointer
	used    map[string]bool // names of arguments with a place outside of a json or form body
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
		return nil, fmt.Errorf("method: %s is not supported: expected GET, HEAD, POST, PUT, PATCH or DELETE", native.Shorten(s.Method))
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
		return errors.New("path is empty: expected a path below the API's url, such as /users/{id}")
	case strings.Contains(s.Path, "://"):
		if scheme, _, _ := strings.Cut(s.Path, "://"); !strings.ContainsAny(scheme, "/?{") {
			return errors.New("path is a whole URL: expected a path below the API's url, which is in the config, such as /users/{id}")
		}
	}
	whole, err := parseTemplate(s.Path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if _, _, found := whole.cut("#"); found {
		return errors.New("path: a fragment (#…) is never sent; a number sign is written %23")
	}
	path, query, _ := whole.cut("?")
	if len(path) > 0 && !strings.HasPrefix(path[0].text, "/") {
		path = slices.Insert(path, 0, part{text: "/"}) // else it could extend the host
	}
	if err := errors.Join(path.escapeLiterals(pathLiterals), query.escapeLiterals(queryLiterals)); err != nil {
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

// compileJoin checks that the joined arguments are in the query and can be joined.
func (t *tool) compileJoin(s *Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Join)) {
		i := slices.IndexFunc(t.query, func(pair template) bool { return slices.Contains(pair.names(), name) })
		switch {
		case i < 0:
			return fmt.Errorf("join: {%s} is not in the query", name)
		case s.Join[name] == "":
			return fmt.Errorf(`join: the separator of %s is empty: expected "," or the like, or "[]"`, name)
		case s.Join[name] == "[]" && !isPair(t.query[i]):
			return fmt.Errorf(`join: "[]" is for a pair such as %s={%s}`, name, name)
		}
	}
	return nil
}

// isPair reports whether a template is key={name} and nothing else.
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
			return fmt.Errorf(`body: expected "json", "form", "none" or one placeholder such as "{document}", got %q`, native.Shorten(s.Body))
		}
		t.payload = whole[0].name
		t.use(whole)
	}
	if s.Body != bodyNone && (t.method == http.MethodGet || t.method == http.MethodHead) {
		return fmt.Errorf("body: a %s has no body (RFC 9110, section 9.3.1)", t.method)
	}
	return nil
}
