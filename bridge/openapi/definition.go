package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// definition is a definition under construction.
type definition struct {
	*importer
	*source
	name string

	properties []property
	spec       spec
}

// A property is an argument of the tool.
type property struct {
	name     string
	schema   []byte
	required bool
}

// spec has the keys of rest's spec that an import sets.
type spec struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Join    map[string]string `json:"join,omitempty"`
}

// build builds the arguments and the request. The error says why the operation cannot be a tool.
func (d *definition) build() error {
	switch {
	case !strings.HasPrefix(d.route, "/"):
		return errors.New("its path does not begin with a slash")
	case strings.ContainsAny(d.route, "?#"):
		return errors.New("its path contains a ? or a #")
	}
	d.spec = spec{Method: d.method, Headers: map[string]string{}, Join: map[string]string{}}
	params := d.parameters()
	names := map[string]string{} // arguments by placeholder in the route
	var query []string
	for _, p := range params {
		if err := d.addParameter(p, names, &query); err != nil {
			return err
		}
	}
	route, err := d.renameRoute(names)
	if err != nil {
		return err
	}
	d.spec.Path = route
	if len(query) > 0 {
		d.spec.Path += "?" + strings.Join(query, "&")
	}
	return d.addBody()
}

// param is a parameter, as the library has it and as written.
type param struct {
	*openapi3.Parameter
	raw []byte
}

// parameters returns the parameters of the path, overridden and extended by those of the operation
// (OpenAPI 3.1.1, section 4.8.10).
func (d *definition) parameters() []param {
	var params []param
	add := func(refs openapi3.Parameters, raw []byte) {
		i := 0
		for r := range wire.Elements(wire.Lookup(raw, "parameters")) {
			if i < len(refs) && refs[i] != nil && refs[i].Value != nil {
				p := param{refs[i].Value, d.schemas.resolve(r)}
				at := slices.IndexFunc(params, func(o param) bool { return o.Name == p.Name && o.In == p.In })
				if at < 0 {
					params = append(params, p)
				} else {
					params[at] = p
				}
			}
			i++
		}
	}
	add(d.item.Parameters, d.rawItem)
	add(d.op.Parameters, d.raw)
	return params
}

// addParameter adds the argument of a parameter and its place in the request.
func (d *definition) addParameter(p param, names map[string]string, query *[]string) error {
	if p.In == openapi3.ParameterInHeader && isIgnored(p.Name) {
		return nil
	}
	if p.In == openapi3.ParameterInCookie {
		d.noteLoss("the cookie %s is left out: set it with the API's headers", p.Name)
		return nil
	}
	method, err := p.SerializationMethod()
	if err != nil {
		return err
	}
	name := d.argument(p)
	switch style := method.Style; {
	case p.In == openapi3.ParameterInPath && style != openapi3.SerializationSimple:
		return fmt.Errorf("the style %q of the path parameter %s is not supported", style, p.Name)
	case p.In == openapi3.ParameterInPath:
		names[p.Name] = name
	case p.In == openapi3.ParameterInHeader:
		if httpapi.CheckHeader(p.Name, "") != nil {
			d.noteLoss("the header %s is left out: it belongs to the connection", p.Name)
			return nil
		}
		d.spec.Headers[p.Name] = "{" + name + "}"
	case style == openapi3.SerializationDeepObject:
		d.spec.Join[name] = "[]"
	case style == openapi3.SerializationSpaceDelimited && !method.Explode:
		d.spec.Join[name] = " "
	case style == openapi3.SerializationPipeDelimited && !method.Explode:
		d.spec.Join[name] = "|"
	case !method.Explode:
		d.spec.Join[name] = ","
	case p.Schema != nil && p.Schema.Value != nil && p.Schema.Value.Type.Is("object"):
		d.note(d.name, ruleChanged, "the object %s in the query is sent as JSON; the document requires a pair for each of its members", p.Name)
	}
	if p.In == openapi3.ParameterInQuery {
		*query = append(*query, escapeName(p.Name)+"={"+name+"}")
	}
	schema := wire.Lookup(p.raw, "schema")
	for _, media := range wire.Members(wire.Lookup(p.raw, "content")) {
		schema = wire.Lookup(media, "schema")
	}
	if !d.has(name) {
		d.properties = append(d.properties, property{name, describe(d.schemas.rewrite(schema), p.Description), p.Required || p.In == openapi3.ParameterInPath})
	}
	return nil
}

// noteLoss notes that a part of the operation is left out.
func (d *definition) noteLoss(format string, args ...any) {
	d.note(d.name, ruleLeftOut, format, args...)
}

// argument returns a name for the argument of a parameter, without braces, which would end its
// placeholder.
func (d *definition) argument(p param) string {
	name := strings.NewReplacer("{", "_", "}", "_").Replace(p.Name)
	if d.has(name) && d.opt.isHidden(name) {
		return name // a caller could set it under another name
	}
	if d.has(name) {
		name = p.In + "_" + name
	}
	for d.has(name) {
		name += "_"
	}
	if name != p.Name {
		d.note(d.name, RuleRenamed, "the %s parameter %s is the argument %s", p.In, p.Name, name)
	}
	return name
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

// escapeName escapes the name of a query parameter for a template.
func escapeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c > ' ' && c < 0x7f && !strings.ContainsRune(`%&=+#?{}[]"<>\^|`+"`", rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// renameRoute replaces the placeholders of the route by the names of arguments, and adds an
// argument for a placeholder that the document does not declare.
func (d *definition) renameRoute(names map[string]string) (string, error) {
	var b strings.Builder
	for rest := d.route; ; {
		before, after, found := strings.Cut(rest, "{")
		if _, err := url.PathUnescape(before); err != nil {
			return "", errors.New("its path contains a % that is not followed by two hexadecimal digits")
		}
		name, after, closed := strings.Cut(after, "}")
		if strings.Contains(before, "}") || found && (!closed || name == "") {
			return "", errors.New("the braces in its path are not balanced")
		}
		if b.WriteString(before); !found {
			return b.String(), nil
		}
		if names[name] == "" {
			p := param{Parameter: &openapi3.Parameter{Name: name, In: openapi3.ParameterInPath}}
			names[name] = d.argument(p)
			d.properties = append(d.properties, property{names[name], []byte(`{"type":"string"}`), true})
			d.note(d.name, ruleInvalid, "{%s} in the path is not declared as a parameter: it is treated as a string", name)
		}
		b.WriteString("{" + names[name] + "}")
		rest = after
	}
}

// addBody adds the arguments of the request's body: one for each member, or one for the whole.
func (d *definition) addBody() error {
	if d.op.RequestBody == nil || d.op.RequestBody.Value == nil {
		return nil
	}
	typed, raw := d.op.RequestBody.Value, d.schemas.resolve(wire.Lookup(d.raw, "requestBody"))
	if d.method == http.MethodGet || d.method == http.MethodHead {
		d.noteLoss("the body is left out: a %s has no body", d.method)
		return nil
	}
	mediaType, schema := pickMedia(wire.Lookup(raw, "content"))
	base, _, _ := mime.ParseMediaType(mediaType)
	isForm := base == "application/x-www-form-urlencoded"
	if mediaType == "" {
		if typed.Required {
			return fmt.Errorf("its body is %s; only JSON and forms are supported", strings.Join(slices.Sorted(maps.Keys(typed.Content)), ", "))
		}
		d.noteLoss("the body is left out: only JSON and forms are supported")
		d.spec.Body = "none"
		return nil
	}
	if base != "application/json" && !isForm && base != "*/*" && base != "application/*" {
		d.spec.Headers["Content-Type"] = mediaType
	}
	members, flat := d.schemas.members(schema)
	if clash := slices.ContainsFunc(members, func(p property) bool { return d.has(p.name) }); flat && !clash {
		for _, p := range members {
			p.required = p.required && typed.Required
			d.properties = append(d.properties, p)
		}
		switch {
		case isForm:
			d.spec.Body = "form"
		case typed.Required:
			d.spec.Body = "json"
		}
		return nil
	}
	if isForm {
		return errors.New("its form is not a plain object, or shares a name with a parameter")
	}
	name := "body"
	for d.has(name) {
		name = "request_" + name
	}
	d.properties = append(d.properties, property{name, describe(d.schemas.rewrite(schema), typed.Description), typed.Required})
	d.spec.Body = "{" + name + "}"
	return nil
}

// pickMedia returns the media type to send and its schema: JSON before a form; "" if there is
// neither.
func pickMedia(content []byte) (mediaType string, schema []byte) {
	best := 0
	for key, media := range wire.Members(content) {
		base, _, _ := mime.ParseMediaType(key)
		rank := 0
		switch {
		case base == "application/json":
			rank = 4
		case strings.HasSuffix(base, "+json"):
			rank = 3
		case base == "*/*", base == "application/*":
			rank = 2
		case base == "application/x-www-form-urlencoded":
			rank = 1
		}
		if rank > best {
			best, mediaType, schema = rank, key, wire.Lookup(media, "schema")
		}
	}
	return mediaType, schema
}

// definition returns what build has built.
func (d *definition) definition() Definition {
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
	schema = append(schema, `,"additionalProperties":false}`...)
	schema = d.schemas.define(schema)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(d.spec) // strings
	return Definition{
		Tool: toolformat.Tool{Name: d.name, Description: d.description(), InputSchema: schema},
		Spec: bytes.TrimSpace(b.Bytes()),
	}
}

// description returns the summary and the description, or one of them if it includes the other.
func (d *definition) description() string {
	summary, text := strings.TrimSpace(d.op.Summary), strings.TrimSpace(d.op.Description)
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
