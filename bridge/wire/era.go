package wire

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// ModernRevision is the first revision of MCP without sessions and without an initialize.
const ModernRevision = mcp.ProtocolVersion20260728

// batchRevision is the only revision that has batches: several messages in one array.
const batchRevision = mcp.ProtocolVersion20250326

// Revisions lists the legacy revisions of MCP, those with an initialize, newest first. It must not
// be changed.
var Revisions = []string{
	mcp.ProtocolVersion20251125, mcp.ProtocolVersion20250618, batchRevision, mcp.ProtocolVersion20241105,
}

// Negotiate returns the revision to answer an initialize with: the one asked for where it is a
// known legacy one, else the newest of those.
func Negotiate(asked string) string {
	if slices.Contains(Revisions, asked) {
		return asked
	}
	return Revisions[0]
}

// HasBatches reports whether peers of a revision may send a batch.
func HasBatches(revision string) bool { return revision == batchRevision }

// The error codes of JSON-RPC.
const (
	ParseError     = mcp.PARSE_ERROR
	InvalidRequest = mcp.INVALID_REQUEST
	MethodNotFound = mcp.METHOD_NOT_FOUND
	InvalidParams  = mcp.INVALID_PARAMS
	InternalError  = mcp.INTERNAL_ERROR
)

// The error codes of MCP.
const (
	ResourceNotFound   = mcp.RESOURCE_NOT_FOUND // up to 2025-11-25, then InvalidParams
	HeaderMismatch     = mcp.HEADER_MISMATCH
	MissingCapability  = mcp.MISSING_REQUIRED_CLIENT_CAPABILITY
	UnsupportedVersion = mcp.UNSUPPORTED_PROTOCOL_VERSION
)
