package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
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
	// absent. Literal text stays in its place.
	Path string `json:"path"`

	// Headers are templates by name. A header is omitted if an argument in it is absent. An
	// argument that is not valid in a header is refused. Cookies are separated by ; and omitted
	// one by one; they are added to those of the API, which an argument cannot replace.
	Headers map[string]string `json:"headers,omitempty"`

	// Body is the kind of body: "json", an object of the arguments that have no other place;
	// "form" (application/x-www-form-urlencoded) or "multipart" (multipart/form-data), the same as
	// fields; "{name}", one argument; "none". The default is none for GET and HEAD, else json if
	// there are such arguments. An argument that is the body is written as the Content-Type in
	// Headers says: as JSON, the default; as the fields of an object; or, for any other type, as
	// the characters of a string.
	Body string `json:"body,omitempty"`

	// Encoding maps arguments, or the members of an argument that is a form, to how they are
	// written.
	Encoding map[string]Encoding `json:"encoding,omitempty"`

	// Join maps arguments in the query to the text between the items of a list, or to "[]" for a
	// deepObject.
	//
	// Deprecated: write {"style": "deepObject"}, {"explode": false} or the like into Encoding.
	Join map[string]string `json:"join,omitempty"`

	// Select is a JSON Pointer (RFC 6901) to the part of the answer that is the result.
	Select string `json:"select,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // bounds a call with its retries; default the API's
}

// A tool is a compiled Spec.
type tool struct {
	*backend
	definition toolformat.Tool

	method  string
	pattern string // the path as written, for errors
	path    []template
	query   []template
	headers []header
	cookies []template
	taken   taken // names in the query
	named   taken // names of the cookies

	body     string // Spec.Body
	format   format
	payload  string // name of the argument that is the body
	encoding map[string]encoding
	sel      native.Pointer
	used     map[string]bool // names of arguments with a place outside of the fields of a body
}

func (s *Spec) compile() (*tool, error) {
	t := &tool{method: strings.ToUpper(s.Method), body: s.Body, used: map[string]bool{}, taken: taken{}, named: taken{}}
	switch t.method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	case "":
		return nil, errors.New("method is empty: expected GET, HEAD, POST, PUT, PATCH or DELETE")
	default:
		return nil, fmt.Errorf("method: %s is not supported: expected GET, HEAD, POST, PUT, PATCH or DELETE", native.Shorten(s.Method))
	}
	for _, compile := range []func(*Spec) error{t.compilePath, t.compileHeaders, t.compileBody, t.compileEncoding} {
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
	t.taken.add(t.query)
	return nil
}

// A taken has the folded names of the query or the cookies, which no member of an exploded argument in the
// same place may have.
type taken map[string]bool

func (t taken) add(pairs []template) {
	for _, pair := range pairs {
		if len(pair) > 0 {
			name, _, _ := strings.Cut(pair[0].text, "=")
			t[foldEscaped(name)] = true
		}
	}
}

func (t *tool) use(templates ...template) {
	for _, tpl := range templates {
		for _, name := range tpl.names() {
			t.used[name] = true
		}
	}
}
