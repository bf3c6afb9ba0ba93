package main

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A server that logs is not asked for its lists each time.
func TestSignalChanges(t *testing.T) {
	changed := make(chan struct{}, 1)
	notify := signalChanges(changed)
	for method, want := range map[string]int{
		wire.NotificationToolsChanged: 1, wire.NotificationPromptsChanged: 1,
		wire.NotificationMessage: 0, wire.NotificationResourceUpdated: 0, wire.NotificationProgress: 0,
	} {
		notify(method, nil)
		notify(method, nil) // which nobody has waited for
		if got := len(changed); got != want {
			t.Errorf("%s: %d", method, got)
		}
		for len(changed) > 0 {
			<-changed
		}
	}
}
