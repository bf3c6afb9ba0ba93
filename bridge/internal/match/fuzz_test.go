package match

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzAdmitURI has URIs in any spelling: none is admitted that means, with all escapes undone, what is
// excluded, or that is not all of what is included.
func FuzzAdmitURI(f *testing.F) {
	for _, uri := range []string{"crm://a", "crm://secret", "crm://%73ecret", "crm://a/%2e%2e/SECRET", "crm://%252573ecret", "crm://%zz", "CRM://a", "crm://a/../b"} {
		f.Add(uri)
	}
	n := Names{Include: []string{"crm://*"}, Exclude: []string{"*secret*"}}
	f.Fuzz(func(t *testing.T, uri string) {
		if !n.AdmitURI(uri) {
			return
		}
		for plain := uri; ; {
			if strings.Contains(strings.ToLower(plain), "secret") || !strings.HasPrefix(plain, "crm://") || strings.Contains(plain, "/../") {
				t.Fatalf("%q is admitted, which is %q", uri, plain)
			}
			next, err := url.PathUnescape(plain)
			if err != nil {
				t.Fatalf("%q is admitted, which cannot be unescaped: %v", uri, err)
			}
			if next == plain {
				return
			}
			plain = next
		}
	})
}
