package openapi

import (
	"cmp"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// styles are the styles of a place, the default first (OpenAPI 3.1.1, section 4.8.12.4). The place
// is that of a parameter, or "form" for the members of a form.
var styles = map[string][]string{
	"path":   {"simple", "label", "matrix"},
	"header": {"simple"},
	"query":  {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
	"cookie": {"form", "cookie"},
	"form":   {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
}

// encodingOf returns how a parameter is written.
func (d *definition) encodingOf(p param) (rest.Encoding, error) {
	if styles[p.in] == nil || p.in == "form" {
		return rest.Encoding{}, fmt.Errorf("the parameter %s is in %q, which is not supported", native.Shorten(p.name), native.Shorten(p.in))
	}
	for mediaType := range wire.Members(wire.Lookup(p.raw, "content")) {
		if httpapi.IsJSON(mediaType) {
			return rest.Encoding{Style: "json"}, nil
		}
		return rest.Encoding{}, nil
	}
	return d.styleOf(p.in, p.name, p.raw, p.schema())
}

// styleOf returns how a value of a schema is written by the style and explode of an object of the
// document.
func (d *definition) styleOf(place, name string, object, schema []byte) (e rest.Encoding, err error) {
	e.Style = cmp.Or(text(object, "style"), styles[place][0])
	if !slices.Contains(styles[place], e.Style) {
		return e, fmt.Errorf("the style %q of %s is not one of a %s: expected %s", native.Shorten(e.Style), native.Shorten(name), place, strings.Join(styles[place], ", "))
	}
	if e.Style == "cookie" { // OpenAPI 3.2, section 4.12.8.5
		e.Style = "form"
	}
	isExploded := e.Style == "form"
	if explode := wire.Lookup(object, "explode"); explode != nil {
		isExploded = isTrue(object, "explode")
	}
	switch isList, isObject := d.schemas.mayBe(schema); {
	case e.Style == "label", e.Style == "matrix":
	case !isList && !isObject, !isObject && isExploded && e.Style == "form", !isObject && e.Style == "simple":
		return rest.Encoding{}, nil // as without an encoding
	}
	if isExploded != (e.Style == "form") && e.Style != "deepObject" {
		e.Explode = &isExploded
	}
	return e, nil
}

// fieldEncoding returns how a member of a form is written. Without style and explode it depends on
// the content type: an object is JSON, a file in a multipart body is one (OpenAPI 3.1.1, section
// 4.8.15).
func (d *definition) fieldEncoding(m media, p property) (rest.Encoding, error) {
	object := wire.Lookup(m.raw, "encoding", p.name)
	contentType := text(object, "contentType")
	isFile := m.base == typeMultipart && d.isFile(p.raw, contentType)
	isStyled := wire.Lookup(object, "style") != nil || wire.Lookup(object, "explode") != nil || wire.Lookup(object, "allowReserved") != nil
	if isStyled && !isFile { // in a multipart body too: 3.0 ignores it, but documents of 3.0 mean it
		return d.styleOf("form", p.name, object, p.raw)
	}
	e := rest.Encoding{}
	if base, _, err := mime.ParseMediaType(contentType); err == nil && !strings.Contains(base, "*") && m.base == typeMultipart && httpapi.CheckHeader("Content-Type", contentType) == nil {
		e.ContentType = contentType
	}
	switch {
	case isFile:
		e.Style = "file"
	case httpapi.IsJSON(contentType):
		e.Style = "json"
	}
	return e, nil
}

// isFile reports whether the values of a schema are files, or lists of them: binary, or of another
// media type than text and JSON.
func (d *definition) isFile(schema []byte, contentType string) bool {
	schema = d.schemas.resolved(schema)
	if items := wire.Lookup(schema, "items"); items != nil {
		schema = d.schemas.resolved(items)
	}
	kind := text(schema, "type")
	switch {
	case kind != "" && kind != "string" || wire.Lookup(schema, "contentEncoding") != nil:
		return false
	case text(schema, "format") == "binary", text(schema, "contentMediaType") != "":
		return true
	}
	base, _, err := mime.ParseMediaType(contentType)
	return err == nil && !httpapi.IsText(base) && kind == "string"
}
