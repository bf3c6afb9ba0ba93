package wire

// The methods and notifications of MCP that somebody here acts on. Everything else is
// relayed by what the routing table says, or not known.
const (
	MethodInitialize = "initialize"
	MethodPing       = "ping"
	MethodDiscover   = "server/discover"
	MethodToolsCall  = "tools/call"
	MethodSetLevel   = "logging/setLevel"

	NotificationInitialized  = "notifications/initialized"
	NotificationCancelled    = "notifications/cancelled"
	NotificationProgress     = "notifications/progress"
	NotificationMessage      = "notifications/message"
	NotificationToolsChanged = "notifications/tools/list_changed"
)
