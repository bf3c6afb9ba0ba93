package wire

import "github.com/mark3labs/mcp-go/mcp"

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

// methods are the names that decoding need not allocate, the most frequent first.
var methods = [...]string{
	MethodToolsCall, NotificationProgress, MethodPing, MethodToolsList,
	MethodResourcesRead, MethodPromptsGet, NotificationMessage, NotificationCancelled,
	MethodInitialize, MethodDiscover, MethodResourcesList, MethodTemplatesList,
	MethodSubscribe, MethodUnsubscribe, MethodPromptsList, MethodComplete,
	MethodSetLevel, MethodListen, MethodCreateMessage, MethodElicit,
	MethodRootsList, MethodTasksGet, MethodTasksList, MethodTasksResult,
	MethodTasksUpdate, MethodTasksCancel, NotificationInitialized, NotificationToolsChanged,
	NotificationResourcesChanged, NotificationResourceUpdated, NotificationPromptsChanged,
	NotificationRootsChanged, NotificationTaskStatus, NotificationSubscribed,
	string(mcp.MethodNotificationElicitationComplete),
}

// methodName decodes the name of a method; ok is false when raw is not a string.
func methodName(raw []byte) (name string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	for _, name := range methods {
		if string(raw[1:len(raw)-1]) == name {
			return name, true
		}
	}
	return Text(raw)
}
