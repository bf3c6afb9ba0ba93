package wire

import "slices"

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
