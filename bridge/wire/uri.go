package wire

import "strings"

// Within reports whether uri is the resource root or a part of it: an update of a part
// reaches the subscribers of the whole (2025-11-25, resources).
func Within(uri, root string) bool {
	rest, ok := strings.CutPrefix(uri, root)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(root, "/"))
}
