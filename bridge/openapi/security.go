package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// security notes which auth the API needs in the config, once for each security scheme.
func (m *importer) security(tool string, operation []byte) {
	requirements := wire.Lookup(operation, "security")
	if requirements == nil {
		requirements = wire.Lookup(m.doc, "security")
	}
	for requirement := range wire.Elements(requirements) {
		for _, name := range slices.Sorted(maps.Keys(maps.Collect(wire.Members(requirement)))) {
			if m.auth[name] {
				continue
			}
			m.auth[name] = true
			scheme, err := m.schemas.resolve(m.schemas.components["securitySchemes/"+name])
			if err != nil || scheme == nil {
				m.note(tool, ruleInvalid, "the security scheme %s is not in the document", name)
				continue
			}
			m.note("", ruleAuth, "%s (security scheme %s): %s", tool, name, advice(scheme))
		}
	}
}

// advice says what to configure for a scheme.
func advice(scheme []byte) string {
	const (
		bearer = `set the API's auth to {"bearer": TOKEN}`
		basic  = `set the API's auth to {"basic": {"username": …, "password": …}}`
	)
	name := text(scheme, "name")
	switch kind := text(scheme, "type"); kind {
	case "http":
		switch name := text(scheme, "scheme"); strings.ToLower(name) {
		case "bearer":
			return bearer
		case "basic":
			return basic
		default:
			return fmt.Sprintf(`set the API's auth to the value of the Authorization header, "%s …"`, name)
		}
	case "basic": // Swagger 2.0
		return basic
	case "apiKey":
		switch text(scheme, "in") {
		case "header":
			return fmt.Sprintf(`set the API's auth to {"header": {"name": %q, "value": KEY}}`, name)
		case "query":
			return fmt.Sprintf("append ?%s=KEY to the API's url", url.QueryEscape(name))
		case "cookie":
			return fmt.Sprintf(`set the API's headers to {"Cookie": "%s=KEY"}`, name)
		}
		return "the document does not say where its key belongs"
	case "oauth2", "openIdConnect":
		return `set the API's auth to {"oauth": {…}}, with which the bridge requests access tokens`
	case "mutualTLS":
		return "it requires a client certificate, which the kind rest does not support"
	default:
		return fmt.Sprintf("unknown type %q", native.Shorten(kind))
	}
}
