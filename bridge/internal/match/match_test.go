package match

import "testing"

func TestAdmitURI(t *testing.T) {
	n := Names{Include: []string{"crm://customer/*", "file:///pub/*"}, Exclude: []string{"crm://customer/13", "*/Private/*"}}
	for uri, want := range map[string]bool{
		"crm://customer/1": true, "crm://customer/a%20b": true, "crm://customer/x?y=..z": true,
		"crm://customer/13": false, "crm://customer/%31%33": false, "crm://customer/%2531%2533": false, "CRM://customer/13": false,
		"crm://customer/../order/1": false, "crm://customer/%2e%2e/order/1": false, "crm://customer/.%2e%2forder": false,
		`file:///pub/..\secret`: false, "file:///pub/x/./y": false, "file:///pub/..": false, "file:///pub/..x": true,
		"file:///pub/private/x": false, "file:///pub/PRIVATE/x": false, "file:///other": false, "": false,
		"file:///pub/\u017f": true, "file:///pub/pr\u0131vate/x": false, "file:///pub/a\x00b": false, "file:///pub/a%00b": false, "file:\x00\x00/pub/a": false,
		"crm://customer/100%": false, "crm://customer/%25252525252525": false,
	} {
		if got := n.AdmitURI(uri); got != want {
			t.Errorf("%s: %t, want %t", uri, got, want)
		}
	}
}
