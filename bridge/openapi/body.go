package openapi

import (
	"fmt"
	"iter"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
)

// A body is that of a request.
type body struct {
	description string
	required    bool
	content     iter.Seq2[string, []byte] // by media type; nil if there is no body
}

// readBody reads the body of an operation.
func (d *definition) readBody() error {
	raw, err := d.schemas.resolve(wire.Lookup(d.raw, "requestBody"))
	if raw != nil {
		d.body = body{text(raw, "description"), isTrue(raw, "required"), wire.Members(wire.Lookup(raw, "content"))}
	}
	return err
}

// addBody adds the arguments of the request's body: one for each member, or one for the whole.
func (d *definition) addBody() error {
	if d.body.content == nil {
		return nil
	}
	m := d.pickMedia()
	if d.method == http.MethodGet || d.method == http.MethodHead {
		if members, flat := d.schemas.members(m.schema()); !flat || len(members) > 0 {
			d.noteLoss("the body is left out: a %s has no body", d.method)
		}
		return nil
	}
	if m.name == "" {
		types := strings.Join(slices.Sorted(maps.Keys(maps.Collect(d.body.content))), ", ")
		if d.body.required {
			return fmt.Errorf("its body is %s, which is not supported", types)
		}
		d.noteLoss("the body is left out: %s is not supported", types)
		d.spec.Body = "none"
		return nil
	}
	if m.isJSON || m.isForm() { // whose members may be arguments
		if done, err := d.addMembers(m, d.body.required); done || err != nil {
			return err
		}
	}
	return d.addWhole(m)
}

func (m media) isForm() bool { return m.base == typeForm || m.base == typeMultipart }

// addMembers adds an argument for each member of a body that is a plain object. done is false if it
// is not, or shares a name with a parameter. Members that the schema requires stay required even if
// the body is optional, the default of the standard that few documents mean.
func (d *definition) addMembers(m media, required bool) (done bool, err error) {
	members, flat := d.schemas.members(m.schema())
	isOpen := m.isJSON && len(members) == 0 // which often means any object
	if !flat || isOpen || slices.ContainsFunc(members, func(p property) bool { return d.has(p.name) }) {
		return false, nil
	}
	for _, p := range members {
		if err := d.encodeField(m, &p); err != nil {
			return false, err
		}
		required = required || p.required
		d.properties = append(d.properties, p)
	}
	switch {
	case m.base == typeForm:
		d.spec.Body = "form"
	case m.base == typeMultipart:
		d.spec.Body = "multipart"
	case required:
		d.spec.Body = "json"
	}
	d.setType(m)
	return true, nil
}

// encodeField adds the encoding of a member of a form.
func (d *definition) encodeField(m media, p *property) error {
	if !m.isForm() {
		return nil
	}
	e, err := d.fieldEncoding(m, *p)
	if err != nil || e == (rest.Encoding{}) {
		return err
	}
	if _, twice := d.spec.Encoding[p.name]; twice {
		return fmt.Errorf("its form shares the name %s with a parameter of another style", p.name)
	}
	if d.spec.Encoding[p.name] = e; e.Style == "file" {
		p.schema = fileSchema(d.schemas.resolved(p.raw))
	}
	return nil
}

// addWhole adds the body as one argument.
func (d *definition) addWhole(m media) error {
	name := "body"
	for d.has(name) {
		name = "request_" + name
	}
	schema := d.schemas.rewrite(m.schema())
	switch {
	case m.isJSON:
	case m.isForm():
		for member, raw := range wire.Members(wire.Lookup(d.schemas.resolved(m.schema()), "properties")) {
			if err := d.encodeField(m, &property{name: member, raw: raw}); err != nil {
				return err
			}
			if style := d.spec.Encoding[member].Style; style != "" && style != "json" && d.has(member) {
				return fmt.Errorf("its form shares the name %s with a parameter of another style", member)
			}
		}
		if len(wire.Lookup(schema, "type")) == 0 && string(schema) == "{}" {
			schema = []byte(`{"type":"object"}`)
		}
	case m.isFile:
		schema = fileSchema(d.schemas.resolved(m.schema()))
		d.spec.Encoding[name] = rest.Encoding{Style: "file"}
	default:
		schema = describe([]byte(`{"type":"string"}`), "The body as "+m.base+".")
	}
	d.properties = append(d.properties, property{name: name, schema: describe(schema, d.body.description), required: d.body.required})
	d.spec.Body = "{" + name + "}"
	d.setType(m)
	return nil
}

// setType sets the Content-Type, unless rest's own is as good.
func (d *definition) setType(m media) {
	switch {
	case m.base == "application/json", m.isForm() && !strings.HasPrefix(d.spec.Body, "{"):
	case m.base == "text/*":
		d.spec.Headers["Content-Type"] = "text/plain"
	case !strings.Contains(m.base, "*"):
		d.spec.Headers["Content-Type"] = m.name
	}
}

// A media is a media type of a body.
type media struct {
	name, base     string // the second is without parameters
	raw            []byte
	isJSON, isFile bool
}

func (m media) schema() []byte { return wire.Lookup(m.raw, "schema") }

// pickMedia returns the media type to send, the zero value if none can be sent.
func (d *definition) pickMedia() (picked media) {
	best := 0
	for name, raw := range d.body.content {
		base, _, err := mime.ParseMediaType(name)
		if err != nil || !strings.Contains(base, "/") || strings.ContainsAny(name, "{}") || httpapi.CheckHeader("Content-Type", name) != nil {
			continue
		}
		m := media{name: name, base: base, raw: raw}
		if rank := d.rank(&m); rank > best {
			best, picked = rank, m
		}
	}
	return picked
}

// rank returns how good a media type is for a model, 0 if it cannot be sent.
func (d *definition) rank(m *media) int {
	kind := text(d.schemas.resolved(m.schema()), "type")
	switch {
	case m.base == "application/json":
		m.isJSON = true
		return 7
	case httpapi.IsJSON(m.base):
		m.isJSON = true
		return 6
	case m.base == "*/*", m.base == "application/*":
		m.isJSON = true
		return 5
	case m.base == typeForm:
		return 4
	case m.base == typeMultipart:
		return 3
	case strings.HasPrefix(m.base, "multipart/"):
		return 0
	case httpapi.IsText(m.base):
		return 2
	case kind == "" || kind == "string":
		m.isFile = true
		return 1
	}
	return 0
}

// fileSchema returns the schema of an argument that is a file, or a list of files, in place of that
// of the document.
func fileSchema(of []byte) []byte {
	const file = `{"type":["string","object"],"description":"A file: its text, data:TYPE;base64,DATA, file:PATH, or an object.",` +
		`"properties":{"uri":{"type":"string","description":"Its name."},"mimeType":{"type":"string"},"text":{"type":"string"},"blob":{"type":"string","description":"Base64."}}}`
	description := text(of, "description")
	if text(of, "type") == "array" {
		return describe([]byte(`{"type":"array","items":`+file+`}`), description)
	}
	if description == "" {
		return []byte(file)
	}
	return describe([]byte(file), strings.TrimRight(description, ". ")+". "+native.Text(wire.Lookup([]byte(file), "description")))
}
