package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// swagger converts a document of Swagger 2.0 to OpenAPI 3.0, part by part: what the library cannot
// convert costs the operations that use it.
type swagger struct {
	raw        []byte
	consumes   []string
	parameters map[string]*openapi2.Parameter // shared ones
	components *openapi3.Components
}

// convert returns a document of Swagger 2.0 as one of OpenAPI 3.0, in its order.
func (m *importer) convert(raw []byte) ([]byte, error) {
	s := &swagger{raw: raw, parameters: map[string]*openapi2.Parameter{}, components: &openapi3.Components{
		Schemas: openapi3.Schemas{}, Parameters: openapi3.ParametersMap{}, RequestBodies: openapi3.RequestBodies{},
	}}
	_ = json.Unmarshal(wire.Lookup(raw, "consumes"), &s.consumes)
	doc := []byte(`{"openapi":"3.0.3"`)
	servers, err := s.servers()
	if err != nil {
		return nil, err
	}
	doc = append(native.AppendKey(doc, "servers"), servers...)
	if security := wire.Lookup(raw, "security"); security != nil {
		doc = append(native.AppendKey(doc, "security"), security...)
	}
	s.convertParameters()
	doc = append(native.AppendKey(doc, "paths"), '{')
	for route, item := range wire.Members(wire.Lookup(raw, "paths")) {
		var converted []byte
		err := protect(func() (err error) {
			converted, err = s.convertItem(item)
			return err
		})
		if err != nil {
			m.leaveOutPath(route, err)
			continue
		}
		doc = append(native.AppendKey(doc, route), converted...)
	}
	doc = append(native.AppendKey(append(doc, '}'), "components"), s.convertComponents()...)
	return append(doc, '}'), nil
}

// protect makes an error of a panic of the library, which some documents with null in them cause.
func protect(convert func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be converted from Swagger 2.0: %v", r)
		}
	}()
	return convert()
}

// servers returns the servers of the document, https before others.
func (s *swagger) servers() ([]byte, error) {
	doc := &openapi2.T{Host: text(s.raw, "host"), BasePath: text(s.raw, "basePath")}
	_ = json.Unmarshal(wire.Lookup(s.raw, "schemes"), &doc.Schemes)
	slices.SortStableFunc(doc.Schemes, func(a, b string) int { return strings.Compare(b, a) })
	converted, err := openapi2conv.ToV3(doc)
	if err != nil {
		return nil, err
	}
	return json.Marshal(converted.Servers)
}

// convertParameters converts the shared parameters; those of a body or a form become components of
// other kinds.
func (s *swagger) convertParameters() {
	for name, raw := range wire.Members(wire.Lookup(s.raw, "parameters")) {
		p := &openapi2.Parameter{}
		if json.Unmarshal(raw, p) != nil {
			continue // a reference to it leads to nothing
		}
		s.parameters[name] = p
		complete(p)
		var parameter *openapi3.ParameterRef
		var body *openapi3.RequestBodyRef
		var fields map[string]*openapi3.SchemaRef
		err := protect(func() (err error) {
			parameter, body, fields, err = openapi2conv.ToV3Parameter(s.components, p, s.bodyTypes(nil))
			return err
		})
		switch {
		case err != nil:
		case body != nil:
			s.components.RequestBodies[name] = body
		case fields != nil:
			for _, field := range fields {
				s.components.Schemas[name] = field
			}
		default:
			s.components.Parameters[name] = parameter
		}
	}
}

// complete sets the default of a list's format (Swagger 2.0, Parameter Object, collectionFormat).
func complete(p *openapi2.Parameter) {
	if p.Type.Is("array") && p.CollectionFormat == "" {
		p.CollectionFormat = "csv"
	}
}

// bodyTypes returns the media types of a body.
func (s *swagger) bodyTypes(own []string) []string {
	switch {
	case len(own) > 0:
		return own
	case len(s.consumes) > 0:
		return s.consumes
	}
	return []string{"application/json"}
}

// convertItem converts a path item.
func (s *swagger) convertItem(raw []byte) ([]byte, error) {
	if wire.Lookup(raw, "$ref") != nil {
		return raw, nil
	}
	plain := []byte{'{'}
	for key, value := range wire.Members(raw) {
		if isObject := len(value) > 0 && value[0] == '{'; isObject {
			value = wire.CutMember(value, "responses") // which are not read
		}
		plain = append(native.AppendKey(plain, key), value...)
	}
	item := &openapi2.PathItem{}
	if err := json.Unmarshal(append(plain, '}'), item); err != nil {
		return nil, err
	}
	forms := map[string]map[string]*openapi3.Encoding{}
	for method, operation := range item.Operations() {
		forms[method] = s.prepare(operation, slices.Concat(item.Parameters, operation.Parameters))
	}
	converted, err := openapi2conv.ToV3PathItem(&openapi2.T{}, s.components, item, nil)
	if err != nil {
		return nil, err
	}
	for method, operation := range converted.Operations() {
		if operation.RequestBody == nil || operation.RequestBody.Value == nil {
			continue
		}
		for _, media := range operation.RequestBody.Value.Content {
			media.Encoding = forms[method]
		}
	}
	return inOrder(converted, raw)
}

// prepare sets the media types of an operation's body, and returns how the lists in its form are
// written.
func (s *swagger) prepare(operation *openapi2.Operation, all openapi2.Parameters) map[string]*openapi3.Encoding {
	encodings := map[string]*openapi3.Encoding{}
	isForm, hasFile := false, false
	for _, p := range all {
		complete(p)
		if shared, ok := strings.CutPrefix(p.Ref, "#/parameters/"); ok && s.parameters[shared] != nil {
			p = s.parameters[shared]
		}
		if p.In != "formData" {
			continue
		}
		isForm, hasFile = true, hasFile || p.Type.Is("file")
		style := map[string]string{"csv": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited"}[p.CollectionFormat]
		if p.Type.Is("array") && style != "" {
			encodings[p.Name] = &openapi3.Encoding{Style: style, Explode: new(bool)}
		}
	}
	operation.Consumes = s.bodyTypes(operation.Consumes)
	if isForm {
		operation.Consumes = slices.DeleteFunc(slices.Clone(operation.Consumes), func(name string) bool {
			return name != typeMultipart && (name != typeForm || hasFile)
		})
	}
	if isForm && len(operation.Consumes) == 0 {
		operation.Consumes = []string{typeForm}
		if hasFile {
			operation.Consumes = []string{typeMultipart}
		}
	}
	return encodings
}

// convertComponents converts what operations refer to.
func (s *swagger) convertComponents() []byte {
	schemas := wire.Lookup(s.raw, "definitions")
	for name, raw := range wire.Members(schemas) {
		schema := &openapi2.SchemaRef{}
		// After an error a reference to it leads to nothing.
		_ = protect(func() error {
			if err := json.Unmarshal(raw, schema); err != nil {
				return err
			}
			converted := openapi2conv.ToV3SchemaRef(schema)
			_, err := json.Marshal(converted)
			if err == nil {
				s.components.Schemas[name] = converted
			}
			return err
		})
	}
	s.components.SecuritySchemes = openapi3.SecuritySchemes{}
	for name, raw := range wire.Members(wire.Lookup(s.raw, "securityDefinitions")) {
		scheme := &openapi2.SecurityScheme{}
		if json.Unmarshal(raw, scheme) == nil {
			if converted, err := openapi2conv.ToV3SecurityScheme(scheme); err == nil {
				s.components.SecuritySchemes[name] = converted
			}
		}
	}
	like := append(native.AppendKey([]byte{'{'}, "schemas"), cmp.Or(string(schemas), "{}")...)
	components, err := inOrder(s.components, append(like, '}'))
	if err != nil {
		return []byte("{}") // what is in them cannot be written: references lead to nothing
	}
	return components
}

// inOrder returns a value as JSON with the order of members, and the digits of numbers, that the
// library has lost: those of like, where the same member has them.
func inOrder(value any, like []byte) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return appendLike(nil, raw, like), nil
}

func appendLike(dst, raw, like []byte) []byte {
	switch raw[0] {
	case '{':
		dst = append(dst, '{')
		members := maps.Collect(wire.Members(raw))
		for key, model := range wire.Members(like) {
			if v, ok := members[key]; ok {
				dst = appendLike(native.AppendKey(dst, key), v, model)
				delete(members, key)
			}
		}
		for key, v := range wire.Members(raw) {
			if _, ok := members[key]; ok {
				dst = appendLike(native.AppendKey(dst, key), v, nil)
			}
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		models := slices.Collect(wire.Elements(like))
		i := 0
		for v := range wire.Elements(raw) {
			var model []byte
			if i < len(models) {
				model = models[i]
			}
			dst = appendLike(native.AppendComma(dst), v, model)
			i++
		}
		return append(dst, ']')
	case '"':
		s, _ := wire.Text(raw)
		return wire.AppendString(dst, s)
	}
	if a, err := strconv.ParseFloat(string(raw), 64); err == nil {
		if b, err := strconv.ParseFloat(string(like), 64); err == nil && a == b {
			raw = like
		}
	}
	return append(dst, raw...)
}
