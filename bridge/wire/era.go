package wire

import "slices"

// ModernRevision is the revision of MCP without sessions and without an initialize.
const ModernRevision = "2026-07-28"

// Revisions are the legacy revisions of MCP, those with an initialize, newest first. Not to be changed.
var Revisions = []string{"2025-11-25", "2025-06-18", batchRevision, "2024-11-05"}

// batchRevision is the only one that sends several messages as one array.
const batchRevision = "2025-03-26"

// Negotiate returns the revision to answer an initialize with: the one asked for where it is a known legacy one, else
// the newest of those.
func Negotiate(asked string) string {
	if slices.Contains(Revisions, asked) {
		return asked
	}
	return Revisions[0]
}

// HasBatches reports whether peers of that revision may send a batch.
func HasBatches(revision string) bool { return revision == batchRevision }

// The headers of the HTTP carrier, in the canonical form of net/http.
const (
	HeaderSession   = "Mcp-Session-Id"
	HeaderProtocol  = "Mcp-Protocol-Version"
	HeaderLastEvent = "Last-Event-Id"
)

// The error codes of JSON-RPC.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// The error codes of MCP.
const (
	ResourceNotFound   = -32002 // up to 2025-11-25; later ones use InvalidParams
	HeaderMismatch     = -32020
	MissingCapability  = -32021
	UnsupportedVersion = -32022
	URLElicitation     = -32042
)
