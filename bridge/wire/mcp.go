package wire

import (
	"slices"
	"strings"

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
	UnsupportedVersion = mcp.UNSUPPORTED_PROTOCOL_VERSION
)

// The methods of MCP, of every revision.
const (
	MethodInitialize    = string(mcp.MethodInitialize)
	MethodPing          = string(mcp.MethodPing)
	MethodDiscover      = string(mcp.MethodServerDiscover)
	MethodToolsList     = string(mcp.MethodToolsList)
	MethodToolsCall     = string(mcp.MethodToolsCall)
	MethodResourcesList = string(mcp.MethodResourcesList)
	MethodTemplatesList = string(mcp.MethodResourcesTemplatesList)
	MethodResourcesRead = string(mcp.MethodResourcesRead)
	MethodSubscribe     = string(mcp.MethodResourcesSubscribe)
	MethodUnsubscribe   = string(mcp.MethodResourcesUnsubscribe)
	MethodPromptsList   = string(mcp.MethodPromptsList)
	MethodPromptsGet    = string(mcp.MethodPromptsGet)
	MethodComplete      = string(mcp.MethodCompletionComplete)
	MethodSetLevel      = string(mcp.MethodSetLogLevel)
	MethodListen        = string(mcp.MethodSubscriptionsListen)
	MethodCreateMessage = string(mcp.MethodSamplingCreateMessage)
	MethodElicit        = string(mcp.MethodElicitationCreate)
	MethodRootsList     = string(mcp.MethodListRoots)
	MethodTasksGet      = string(mcp.MethodTasksGet)
	MethodTasksList     = string(mcp.MethodTasksList)
	MethodTasksResult   = string(mcp.MethodTasksResult)
	MethodTasksUpdate   = "tasks/update" // the tasks extension (SEP-2663)
	MethodTasksCancel   = string(mcp.MethodTasksCancel)
)

// The notifications of MCP, of every revision.
const (
	NotificationInitialized      = string(mcp.MethodNotificationInitialized)
	NotificationCancelled        = string(mcp.MethodNotificationCancelled)
	NotificationProgress         = string(mcp.MethodNotificationProgress)
	NotificationMessage          = string(mcp.MethodNotificationMessage)
	NotificationToolsChanged     = mcp.MethodNotificationToolsListChanged
	NotificationResourcesChanged = mcp.MethodNotificationResourcesListChanged
	NotificationResourceUpdated  = mcp.MethodNotificationResourceUpdated
	NotificationPromptsChanged   = mcp.MethodNotificationPromptsListChanged
	NotificationRootsChanged     = string(mcp.MethodNotificationRootsListChanged)
	NotificationTaskStatus       = string(mcp.MethodNotificationTasksStatus)
	NotificationSubscribed       = mcp.MethodNotificationSubscriptionsAcknowledged
)

// frequent are the methods that decoding a message need not allocate.
var frequent = [...]string{
	MethodToolsCall, NotificationProgress, MethodPing, MethodToolsList,
	MethodResourcesRead, MethodPromptsGet, NotificationMessage, NotificationCancelled,
}

// methodName decodes the name of a method; "" when raw is not a string.
func methodName(raw []byte) string {
	for _, name := range frequent {
		if len(raw) == len(name)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == name {
			return name
		}
	}
	name, _ := Text(raw)
	return name
}

// tasksExtension names the tasks extension in the capabilities of a client (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// MaxTasks bounds the tasks that a link, a session or a view of a server remembers.
const MaxTasks = 10_000

// TakesTasks reports whether a client with these capabilities accepts a task where it asked
// for a result.
func TakesTasks(capabilities []byte) bool {
	return Lookup(capabilities, "extensions", tasksExtension) != nil
}

// MaxTaskID bounds the ids of tasks, in bytes: they are remembered.
const MaxTaskID = 1 << 10

// CreatedTask returns the id of the task that a result announces: the result is the task
// itself (SEP-2663), or has it as its member "task" (2025-11-25). An id that is too long to be remembered
// does not count.
func CreatedTask(result []byte) (id string, ok bool) {
	if !mayHave(result, "taskId") {
		return "", false
	}
	raw := Lookup(result, "task", "taskId")
	if spells(Lookup(result, "resultType"), "task") {
		raw = Lookup(result, "taskId")
	}
	if len(raw) > MaxTaskID {
		return "", false
	}
	return Text(raw)
}

// LogLevel is the severity of a log message, one of the eight of RFC 5424. The zero value
// stands for a level that is missing or unknown.
type LogLevel int32

var logLevels = [...]string{
	"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
}

// ParseLogLevel returns the level that a raw JSON string names, 0 for any other value.
func ParseLogLevel(raw []byte) LogLevel {
	name, _ := Text(raw)
	return LogLevel(max(slices.Index(logLevels[:], name), 0))
}

// String returns the level's name in MCP, "" for 0.
func (l LogLevel) String() string { return logLevels[l] }

// Admits reports whether a log message is at least as severe as l. A message of an unknown
// level is taken for one of the lowest.
func (l LogLevel) Admits(message []byte) bool {
	return l <= max(ParseLogLevel(Lookup(message, "level")), 1)
}

// Within reports whether uri is the resource root or a part of it: an update of a part
// reaches the subscribers of the whole (2025-11-25, resources).
func Within(uri, root string) bool {
	rest, ok := strings.CutPrefix(uri, root)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(root, "/"))
}
