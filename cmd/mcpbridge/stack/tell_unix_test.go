//go:build unix

package stack

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// A command that reads nothing of a large approval ends in time.
func TestTellEnds(t *testing.T) {
	s := &Stack{cfg: &config.Config{Dir: t.TempDir()}, pool: NewPool(), log: slog.New(slog.DiscardHandler)}
	defer s.pool.Close()
	large := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	start := time.Now()
	s.tell(policy.Approval{Arguments: large}, []string{"sleep", "60"}, time.Millisecond)
	if took := time.Since(start); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
}
