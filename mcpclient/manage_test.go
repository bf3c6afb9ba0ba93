package mcpclient_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server can be restarted and stopped while it has callers.
func TestRestartAndStop(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		state := func() mcpclient.LinkStatus {
			t.Helper()
			links := c.client.Links()
			if len(links) != 1 || links[0].Callers != 1 || links[0].Since.IsZero() || (links[0].PID != 0) != (carrier == "stdio" && links[0].State == mcpclient.Ready) {
				t.Fatalf("links: %+v", links)
			}
			return links[0]
		}
		c.works("ok")
		first := state()
		c.client.Restart()
		c.works("ok")
		second := state()
		if carrier == "stdio" && first.PID == second.PID {
			t.Errorf("the process is the same, %d", first.PID)
		}
		c.client.Stop()
		c.fails(c.call("ok"), toolformat.Unavailable, "it was stopped (mcpbridge restart starts it again)")
		if st := state(); st.State != mcpclient.Stopped {
			t.Errorf("the state is %s", st.State)
		}
		c.client.Stop()
		c.client.Restart()
		c.works("ok")
	})
}
