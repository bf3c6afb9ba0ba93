package wire

import (
	"bytes"

	"github.com/mark3labs/mcp-go/mcp"
)

// Key names a member of params, or of the _meta in it, that a bridge reads or changes.
type Key uint8

// The keys of params, and those of params._meta.
const (
	Name           Key = iota // name
	URI                       // uri
	Arguments                 // arguments
	Meta                      // _meta
	Cursor                    // cursor
	RequestID                 // requestId
	ProgressToken             // progressToken, of a progress notification
	progress                  // progress
	reason                    // reason
	Ref                       // ref
	Task                      // task
	TaskID                    // taskId
	InputResponses            // inputResponses
	RequestState              // requestState
	IdempotencyKey            // idempotencyKey (SEP-3182)

	MetaProgressToken      // progressToken, of a request
	MetaProtocolVersion    // io.modelcontextprotocol/protocolVersion
	MetaClientInfo         // io.modelcontextprotocol/clientInfo
	MetaClientCapabilities // io.modelcontextprotocol/clientCapabilities
	MetaLogLevel           // io.modelcontextprotocol/logLevel
	MetaSubscriptionID     // io.modelcontextprotocol/subscriptionId
	metaRelatedTask        // io.modelcontextprotocol/related-task
	MetaRepeated           // mcpbridge/repeated, of a request that was sent before on a connection that was lost
	MetaIdempotencyKey     // idempotencyKey, where a client puts it there

	numKeys
)

// The keys of the envelope, and those of the result in it.
const (
	keyVersion = numKeys + iota
	keyID
	keyMethod
	keyParams
	keyResult
	keyError

	// Those of a result.
	keyIsError
	keyResultType
	keyResultTask
	keyResultTaskID

	allKeys
)

var names = [allKeys]string{
	Name: "name", URI: "uri", Arguments: "arguments", Meta: "_meta", Cursor: "cursor",
	RequestID: "requestId", ProgressToken: "progressToken", progress: "progress", reason: "reason",
	Ref: "ref", Task: "task", TaskID: "taskId",
	InputResponses: "inputResponses", RequestState: "requestState", IdempotencyKey: "idempotencyKey",

	MetaProgressToken: "progressToken", MetaProtocolVersion: mcp.MetaKeyProtocolVersion,
	MetaClientInfo: mcp.MetaKeyClientInfo, MetaClientCapabilities: mcp.MetaKeyClientCapabilities,
	MetaLogLevel: mcp.MetaKeyLogLevel, MetaSubscriptionID: mcp.MetaKeySubscriptionID,
	metaRelatedTask: mcp.RelatedTaskMetaKey, MetaRepeated: "mcpbridge/repeated", MetaIdempotencyKey: "idempotencyKey",

	keyVersion: "jsonrpc", keyID: "id", keyMethod: "method", keyParams: "params",
	keyResult: "result", keyError: "error",
	keyIsError: "isError", keyResultType: "resultType", keyResultTask: "task", keyResultTaskID: "taskId",
}

// String returns the key as a message spells it.
func (k Key) String() string { return names[k] }

// Params is the params object of a message, with the places of the members that have a [Key]. The
// zero value stands for absent params. It may be read by many goroutines.
type Params struct {
	Raw []byte // the whole object, not to be changed; nil when absent

	spans [numKeys]span // relative to Raw, those of _meta too
}

// SplitParams parses params that do not come in a message, by the rules of [Split]. It takes raw
// over and blanks its line breaks. Empty bytes, white space and null make the zero Params. The
// error is an [*Error].
func SplitParams(raw []byte) (Params, error) {
	start := space(raw, 0)
	switch at(raw, start) {
	case '{':
	case 0, 'n':
		if start == len(raw) {
			return Params{}, nil
		}
		return Params{}, Valid(raw)
	default:
		if err := Valid(raw); err != nil {
			return Params{}, err
		}
		return Params{}, invalid(`"params" must be an object`)
	}
	s := splitter{b: raw, base: start}
	end, fault := s.object(start, paramsLevel, 1)
	if err := verdict(raw, end, fault); err != nil {
		return Params{}, err
	}
	if s.wrong != nil {
		return Params{}, s.wrong
	}
	return Params{Raw: raw[start:end:end], spans: s.params}, nil
}

// Get returns the raw value of a member, a slice of Raw; nil when absent.
func (p *Params) Get(k Key) []byte { return p.spans[k].of(p.Raw) }

// Text decodes a member that is a string; ok is false when it is absent or not a string.
func (p *Params) Text(k Key) (s string, ok bool) { return Text(p.Get(k)) }

// Is reports whether a member is the JSON string that spells s.
func (p *Params) Is(k Key, s string) bool { return spells(p.Get(k), s) }

// Clone returns params that share no memory with p.
func (p *Params) Clone() Params {
	own := *p
	own.Raw = bytes.Clone(p.Raw)
	return own
}
