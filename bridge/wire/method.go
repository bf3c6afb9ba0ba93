package wire

// The methods of MCP, of every revision.
const (
	MethodInitialize    = "initialize"
	MethodPing          = "ping"
	MethodDiscover      = "server/discover"
	MethodToolsList     = "tools/list"
	MethodToolsCall     = "tools/call"
	MethodResourcesList = "resources/list"
	MethodTemplatesList = "resources/templates/list"
	MethodResourcesRead = "resources/read"
	MethodSubscribe     = "resources/subscribe"
	MethodUnsubscribe   = "resources/unsubscribe"
	MethodPromptsList   = "prompts/list"
	MethodPromptsGet    = "prompts/get"
	MethodComplete      = "completion/complete"
	MethodSetLevel      = "logging/setLevel"
	MethodListen        = "subscriptions/listen"
	MethodCreateMessage = "sampling/createMessage"
	MethodElicit        = "elicitation/create"
	MethodRootsList     = "roots/list"
	MethodTasksGet      = "tasks/get"
	MethodTasksList     = "tasks/list"
	MethodTasksResult   = "tasks/result"
	MethodTasksUpdate   = "tasks/update"
	MethodTasksCancel   = "tasks/cancel"
)

// The notifications of MCP, of every revision.
const (
	NotificationInitialized      = "notifications/initialized"
	NotificationCancelled        = "notifications/cancelled"
	NotificationProgress         = "notifications/progress"
	NotificationMessage          = "notifications/message"
	NotificationToolsChanged     = "notifications/tools/list_changed"
	NotificationResourcesChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated  = "notifications/resources/updated"
	NotificationPromptsChanged   = "notifications/prompts/list_changed"
	NotificationRootsChanged     = "notifications/roots/list_changed"
	NotificationTaskStatus       = "notifications/tasks/status"
	NotificationElicitComplete   = "notifications/elicitation/complete"
	NotificationSubscribed       = "notifications/subscriptions/acknowledged"
)

// methods are known so that their names need no memory, those first that come most.
var methods = [...]string{
	MethodToolsCall, NotificationProgress, MethodPing, MethodToolsList,
	MethodResourcesRead, MethodPromptsGet, NotificationMessage, NotificationCancelled,
	MethodInitialize, MethodDiscover, MethodResourcesList, MethodTemplatesList,
	MethodSubscribe, MethodUnsubscribe, MethodPromptsList, MethodComplete,
	MethodSetLevel, MethodListen, MethodCreateMessage, MethodElicit,
	MethodRootsList, MethodTasksGet, MethodTasksList, MethodTasksResult,
	MethodTasksUpdate, MethodTasksCancel, NotificationInitialized, NotificationToolsChanged,
	NotificationResourcesChanged, NotificationResourceUpdated, NotificationPromptsChanged, NotificationRootsChanged,
	NotificationTaskStatus, NotificationElicitComplete, NotificationSubscribed,
}

// methodName decodes the name of a method; false when raw is not a string.
func methodName(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	for _, name := range methods {
		if string(raw[1:len(raw)-1]) == name {
			return name, true
		}
	}
	return text(raw)
}
