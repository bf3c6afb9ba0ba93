package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// definition is a definition under construction.
type definition struct {
	*importer
	*source
	name string

	properties []property
	query      []string
	cookies    []string
	body       body
	spec       rest.Spec
}

// A property is an argument of the tool.
type property struct {
	name     string
	raw      []byte // its schema in the document
	schema   []byte
	required bool
}

// build builds the definition. The error says why the operation cannot be a tool.
func (d *definition) build() (built Definition, err error) {
	if !strings.HasPrefix(d.route, "/") {
		return built, errors.New("its path does not begin with a slash")
	}
	route, err := parseRoute(d.route)
	if err != nil {
		return built, err
	}
	// The bridge fills in defaults: in a PATCH they would overwrite members that the caller has not set.
	d.schemas.bare = d.method == http.MethodPatch
	//lint:ignore SA1019 no style has tabs between items
	d.spec = rest.Spec{Method: d.method, Headers: map[string]string{}, Encoding: map[string]rest.Encoding{}, Join: map[string]string{}}
	params, err := d.parameters()
	if err == nil && d.schemas.isSwagger {
		params, err = d.fromSwagger(params)
	} else if err == nil {
		err = d.readBody()
	}
	if err != nil {
		return built, err
	}
	names := map[string]string{} // arguments by placeholder in the route
	for _, p := range params {
		if p.in == "path" && !slices.ContainsFunc(route, func(part routePart) bool { return part.name == p.name }) {
			d.note(d.name, ruleInvalid, "the path parameter %s is left out: the path has no place for it", p.name)
			continue
		}
		if err := d.addParameter(p, names); err != nil {
			return built, err
		}
	}
	d.setPath(route, names)
	if len(d.cookies) > 0 {
		d.spec.Headers["Cookie"] = strings.Join(d.cookies, "; ")
	}
	if err := d.addBody(); err != nil {
		return built, err
	}
	return d.definition()
}

// param is a parameter.
type param struct {
	name, in string
	raw      []byte
}

// parameters returns the parameters of the path, overridden and extended by those of the operation
// (OpenAPI 3.1.1, section 4.8.10).
func (d *definition) parameters() (params []param, err error) {
	for _, raw := range slices.Concat(list(d.item, "parameters"), list(d.raw, "parameters")) {
		if raw, err = d.schemas.resolve(raw); err != nil {
			return nil, err
		}
		p := param{text(raw, "name"), text(raw, "in"), raw}
		if p.name == "" && p.in != "body" {
			return nil, errors.New("one of its parameters has no name")
		}
		at := slices.IndexFunc(params, func(o param) bool { return o.name == p.name && o.in == p.in })
		if at < 0 {
			params = append(params, p)
		} else {
			params[at] = p
		}
	}
	return params, nil
}

// addParameter adds the argument of a parameter and its place in the request.
func (d *definition) addParameter(p param, names map[string]string) error {
	if p.in == "header" && isIgnored(p.name) || p.in != "path" && hasFold(d.opt.Set, p.name) {
		return nil
	}
	isCoding := p.in == "header" && strings.EqualFold(p.name, "Accept-Encoding") // what the bridge can decode
	if (p.in == "header" || p.in == "cookie") && httpapi.CheckHeader(p.name, "") != nil || isCoding {
		d.noteLoss("the %s %s is left out: it belongs to the connection, or is not a valid name", p.in, native.Shorten(p.name))
		return nil
	}
	e, err := d.encodingOf(p)
	if err != nil {
		return err
	}
	name := d.argument(p)
	switch p.in {
	case "path":
		if e.Style == "matrix" && name != p.name {
			return fmt.Errorf("the path parameter %s, which has the style matrix, shares its name with another parameter", p.name)
		}
		names[p.name] = name
	case "query":
		d.query = append(d.query, nameEscapes.Replace(p.name)+"={"+name+"}")
		if d.schemas.isSwagger && p.isTabbed() {
			//lint:ignore SA1019 no style has tabs between items
			d.spec.Join[name] = "\t"
		}
	case "cookie":
		d.cookies = append(d.cookies, p.name+"={"+name+"}")
	case "header":
		if strings.EqualFold(p.name, "Cookie") {
			d.cookies = append(d.cookies, "{"+name+"}")
		} else {
			d.spec.Headers[p.name] = "{" + name + "}"
		}
	}
	if e != (rest.Encoding{}) {
		d.spec.Encoding[name] = e
	}
	d.addProperty(property{
		name: name, schema: describe(d.schemas.rewrite(p.schema()), text(p.raw, "description")), required: isTrue(p.raw, "required") || p.in == "path",
	})
	return nil
}

// schema returns the schema of a parameter, which its content may have.
func (p param) schema() []byte {
	schema := wire.Lookup(p.raw, "schema")
	for _, media := range wire.Members(wire.Lookup(p.raw, "content")) {
		schema = wire.Lookup(media, "schema")
	}
	return schema
}

// noteLoss notes that a part of the operation is left out.
func (d *definition) noteLoss(format string, args ...any) {
	d.note(d.name, ruleLeftOut, format, args...)
}

// argument returns a name for the argument of a parameter, without braces, which would end its
// placeholder.
func (d *definition) argument(p param) string {
	name := strings.NewReplacer("{", "_", "}", "_").Replace(p.name)
	if d.has(name) && d.opt.isHidden(name) {
		return name // a caller could set it under another name
	}
	if d.has(name) {
		name = p.in + "_" + name
	}
	for d.has(name) {
		name += "_"
	}
	if name != p.name {
		d.note(d.name, RuleRenamed, "the %s parameter %s is the argument %s", p.in, p.name, name)
	}
	return name
}

// addProperty adds an argument, unless a hidden value has several places.
func (d *definition) addProperty(p property) {
	if !d.has(p.name) {
		d.properties = append(d.properties, p)
	}
}

func (d *definition) has(name string) bool {
	return slices.ContainsFunc(d.properties, func(p property) bool { return p.name == name })
}

// isIgnored reports whether the standard ignores a header as a parameter (OpenAPI 3.1.1, section
// 4.8.12.1).
func isIgnored(header string) bool {
	switch http.CanonicalHeaderKey(header) {
	case "Accept", "Content-Type", "Authorization":
		return true
	}
	return false
}

// nameEscapes escapes the name of a query parameter for a template; rest escapes all else.
var nameEscapes = strings.NewReplacer("%", "%25", "&", "%26", "=", "%3D", "+", "%2B", "#", "%23", "?", "%3F", "{", "%7B", "}", "%7D", "[", "%5B", "]", "%5D")

// A routePart is a text of a path and the name of the placeholder after it, "" at the end.
type routePart struct{ text, name string }

// parseRoute splits a path at its placeholders. It cuts off a fragment, which only tells operations
// apart and is never sent.
func parseRoute(route string) (parts []routePart, err error) {
	for rest := route; ; {
		before, after, found := strings.Cut(rest, "{")
		before, _, isFragment := strings.Cut(before, "#")
		name, after, closed := strings.Cut(after, "}")
		switch _, err := url.PathUnescape(before); {
		case err != nil:
			return nil, errors.New("its path contains a % that is not followed by two hexadecimal digits")
		case strings.Contains(before, "?"):
			return nil, errors.New("its path contains a ?")
		case strings.Contains(before, "}"), !isFragment && found && (!closed || name == "" || strings.Contains(name, "{")):
			return nil, errors.New("the braces in its path are not balanced")
		case isFragment:
			return append(parts, routePart{before, ""}), nil
		}
		if parts = append(parts, routePart{before, name}); !found {
			return parts, nil
		}
		rest = after
	}
}

// setPath sets the path of the spec, with the names of arguments in the route, and adds an argument
// for a placeholder that the document does not declare.
func (d *definition) setPath(route []routePart, names map[string]string) {
	var b strings.Builder
	for _, part := range route {
		b.WriteString(part.text)
		if part.name == "" {
			continue
		}
		if names[part.name] == "" {
			names[part.name] = d.argument(param{name: part.name, in: "path"})
			d.addProperty(property{name: names[part.name], schema: []byte(`{"type":"string"}`), required: true})
			d.note(d.name, ruleInvalid, "{%s} in the path is not declared as a parameter: it is treated as a string", part.name)
		}
		b.WriteString("{" + names[part.name] + "}")
	}
	d.spec.Path = b.String()
	if len(d.query) > 0 {
		d.spec.Path += "?" + strings.Join(d.query, "&")
	}
}

// definition returns what build has built.
func (d *definition) definition() (Definition, error) {
	schema := []byte(`{"type":"object","properties":{`)
	var required []string
	for _, p := range d.properties {
		schema = append(native.AppendKey(schema, p.name), p.schema...)
		if p.required {
			required = append(required, p.name)
		}
	}
	schema = append(schema, '}')
	if required != nil {
		list, _ := json.Marshal(required) // strings
		schema = append(append(schema, `,"required":`...), list...)
	}
	schema, err := d.schemas.define(append(schema, `,"additionalProperties":false}`...))
	if err != nil {
		return Definition{}, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(d.spec) // strings
	return Definition{
		Tool: toolformat.Tool{Name: d.name, Description: d.description(), InputSchema: schema},
		Spec: bytes.TrimSpace(b.Bytes()),
	}, nil
}

// description returns the summary and the description, or one of them if it includes the other.
func (d *definition) description() string {
	summary, text := strings.TrimSpace(text(d.raw, "summary")), strings.TrimSpace(text(d.raw, "description"))
	switch {
	case summary == "" && text == "":
		return d.method + " " + d.opt.shown(d.route)
	case text == "", strings.HasPrefix(summary, text):
		return summary
	case summary == "", strings.HasPrefix(text, summary):
		return text
	}
	return summary + "\n\n" + text
}
