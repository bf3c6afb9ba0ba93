package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// security notes which auth the API needs in the config, once for each security scheme.
func (m *importer) security(tool string, op *openapi3.Operation) {
	requirements := m.typed.Security
	if op.Security != nil {
		requirements = *op.Security
	}
	for _, requirement := range requirements {
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			if m.auth[name] {
				continue
			}
			m.auth[name] = true
			ref := m.schemes()[name]
			if ref == nil || ref.Value == nil {
				m.note(tool, ruleInvalid, "the security scheme %s is not in the document", name)
				continue
			}
			m.note("", ruleAuth, "%s (security scheme %s): %s", tool, name, advice(ref.Value))
		}
	}
}

func (m *importer) schemes() openapi3.SecuritySchemes {
	if m.typed.Components == nil {
		return nil
	}
	return m.typed.Components.SecuritySchemes
}

// advice says what to configure for a scheme.
func advice(s *openapi3.SecurityScheme) string {
	const bearer = `set the API's auth to {"bearer": TOKEN}`
	switch s.Type {
	case "http":
		switch strings.ToLower(s.Scheme) {
		case "bearer":
			return bearer
		case "basic":
			return `set the API's auth to {"basic": {"username": …, "password": …}}`
		}
		return fmt.Sprintf(`set the API's auth to the value of the Authorization header, "%s …"`, s.Scheme)
	case "apiKey":
		switch s.In {
		case "header":
			return fmt.Sprintf(`set the API's auth to {"header": {"name": %q, "value": KEY}}`, s.Name)
		case "query":
			return fmt.Sprintf("append ?%s=KEY to the API's url", escapeName(s.Name))
		case "cookie":
			return fmt.Sprintf(`set the API's headers to {"Cookie": "%s=KEY"}`, s.Name)
		}
	case "oauth2", "openIdConnect":
		return bearer + " with an access token, which the bridge does not request itself"
	case "mutualTLS":
		return "it requires a client certificate, which the kind rest does not support"
	}
	return fmt.Sprintf("unknown type %q", s.Type)
}
