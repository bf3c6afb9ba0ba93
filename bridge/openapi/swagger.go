package openapi

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// swagger is the version of documents that have other parameters, and no request bodies.
const swagger = "2.0"

// swaggerKinds are the kinds of components by where Swagger 2.0 has them.
var swaggerKinds = map[string]string{"definitions": "schemas", "parameters": "parameters", "securityDefinitions": "securitySchemes"}

// swaggerURL returns the URL of the API, or "" if the document does not name a host that speaks HTTP.
func swaggerURL(doc []byte) string {
	host, schemes := text(doc, "host"), list(doc, "schemes")
	for _, scheme := range []string{"https", "http"} {
		isScheme := func(raw []byte) bool { return native.Text(raw) == scheme }
		if host != "" && (len(schemes) == 0 || slices.ContainsFunc(schemes, isScheme)) {
			return (&url.URL{Scheme: scheme, Host: host, Path: cmp.Or(text(doc, "basePath"), "/")}).String()
		}
	}
	return ""
}

// fromSwagger sets the body of an operation from its parameters, and returns those that are
// parameters in OpenAPI 3.0 too, as it has them.
func (d *definition) fromSwagger(params []param) (others []param, err error) {
	var fields []param
	for _, p := range params {
		switch p.in {
		case "body":
			if d.body.content != nil {
				return nil, errors.New("it has more than one body")
			}
			d.body = body{description: text(p.raw, "description"), required: isTrue(p.raw, "required")}
			media := append(native.AppendKey([]byte{'{'}, "schema"), cmp.Or(string(wire.Lookup(p.raw, "schema")), "{}")...)
			d.setContent(d.consumes(), append(media, '}'))
		case "formData":
			fields = append(fields, p)
		default:
			d.noteFormat(p)
			others = append(others, param{p.name, p.in, p.fromSwagger()})
		}
	}
	if fields != nil && d.body.content != nil {
		return nil, errors.New("it has both a body and a form")
	}
	if fields != nil {
		d.setForm(fields)
	}
	return others, nil
}

// fromSwagger returns a parameter as OpenAPI 3.0 has it.
func (p param) fromSwagger() []byte {
	raw := p.raw
	if wire.Lookup(raw, "schema") == nil {
		raw = wire.SetMember(raw, "schema", appendSwaggerSchema(nil, p.raw))
	}
	if style, explode := p.swaggerStyle(); style != "" && p.in == "query" {
		raw = wire.SetMember(raw, "style", wire.AppendString(nil, style))
		raw = wire.SetMember(raw, "explode", strconv.AppendBool(nil, explode))
	}
	return raw
}

// swaggerStyle returns how a list is written (Swagger 2.0, Parameter Object, collectionFormat), or ""
// if OpenAPI 3.0 has no such style.
func (p param) swaggerStyle() (style string, explode bool) {
	if text(p.raw, "type") != "array" {
		return "", false
	}
	switch text(p.raw, "collectionFormat") {
	case "", "csv":
		return "form", false
	case "multi":
		return "form", true
	case "ssv":
		return "spaceDelimited", false
	case "pipes":
		return "pipeDelimited", false
	}
	return "", false
}

// isTabbed reports whether a list has tabs between its items, for which OpenAPI 3.0 has no style.
func (p param) isTabbed() bool {
	return text(p.raw, "type") == "array" && text(p.raw, "collectionFormat") == "tsv"
}

// noteFormat notes a list that is not written as the document has it.
func (d *definition) noteFormat(p param) {
	format, how := text(p.raw, "collectionFormat"), "with commas"
	if p.in == "formData" {
		how = "as a field for each item"
	}
	switch {
	case text(p.raw, "type") != "array", p.in == "query", format == "", format == "csv":
	case p.in != "formData" || format == "tsv":
		d.note(d.name, ruleChanged, "the list %s is written %s, not as its collectionFormat %s has it", p.name, how, native.Shorten(format))
	}
}

// appendSwaggerSchema appends the schema of a parameter, or of the items of one: it is the parameter
// itself, less what is not about its value.
func appendSwaggerSchema(dst, p []byte) []byte {
	dst = append(dst, '{')
	for key, value := range wire.Members(p) {
		switch {
		case key == "name", key == "in", key == "required", key == "collectionFormat", key == "allowEmptyValue":
		case key == "type" && string(value) == `"file"`:
			dst = append(native.AppendComma(dst), `"type":"string","format":"binary"`...)
		case key == "items" && value[0] == '{':
			dst = appendSwaggerSchema(native.AppendKey(dst, key), value)
		default:
			dst = append(native.AppendKey(dst, key), value...)
		}
	}
	return append(dst, '}')
}

// consumes returns the media types of the operation's body. An empty list of the operation clears that of the document
// (Swagger 2.0, Operation Object).
func (d *definition) consumes() (types []string) {
	raw := wire.Lookup(d.raw, "consumes")
	if len(raw) == 0 || raw[0] != '[' {
		raw = wire.Lookup(d.doc, "consumes")
	}
	for name := range wire.Elements(raw) {
		if types = append(types, native.Text(name)); len(types) == maxTypes {
			break
		}
	}
	if types == nil {
		return []string{"application/json"}
	}
	return types
}

// maxTypes bounds the media types of a body: its schema is read for each.
const maxTypes = 100

// setContent sets the media types of the body, which share all else.
func (d *definition) setContent(types []string, media []byte) {
	d.body.content = func(yield func(string, []byte) bool) {
		for _, name := range types {
			if !yield(name, media) {
				return
			}
		}
	}
}

// setForm makes a form the body, whose media types are those of the operation that a form can have.
func (d *definition) setForm(fields []param) {
	schema, encoding := []byte(`{"type":"object","properties":{`), []byte{'{'}
	required, hasFile := []byte{'['}, false
	for _, p := range fields {
		schema = appendSwaggerSchema(native.AppendKey(schema, p.name), p.raw)
		hasFile = hasFile || text(p.raw, "type") == "file"
		if isTrue(p.raw, "required") {
			required = wire.AppendString(native.AppendComma(required), p.name)
		}
		d.noteFormat(p)
		if style, explode := p.swaggerStyle(); style != "" {
			encoding = wire.AppendString(append(native.AppendKey(encoding, p.name), `{"style":`...), style)
			encoding = append(strconv.AppendBool(append(encoding, `,"explode":`...), explode), '}')
		}
	}
	media := append(append([]byte(`{"schema":`), schema...), `},"required":`...)
	media = append(append(append(media, required...), `]},"encoding":`...), encoding...)
	types := slices.DeleteFunc(d.consumes(), func(name string) bool { return name != typeMultipart && (name != typeForm || hasFile) })
	switch {
	case len(types) > 0:
	case hasFile:
		types = []string{typeMultipart}
	default:
		types = []string{typeForm}
	}
	d.setContent(types, append(media, "}}"...))
}
