package mcpclient_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// Callers who come while the connection is being made all get it, however their waiting
// falls together with its coming.
func TestReadyWakesAll(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		for i := range 100 {
			cfg.Name = fmt.Sprint("up", i)
			client := mcpclient.New(cfg)
			client.DialThrough(u.network.Dial)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			var wg sync.WaitGroup
			for j := range 50 {
				wg.Go(func() {
					session, err := client.Open(ctx, &bridge.Caller{ID: fmt.Sprint(j)})
					if err != nil {
						t.Error(err)
						return
					}
					defer session.Close()
					if list, err := session.List(ctx, bridge.Tools); err != nil || len(list.Items) != 1 {
						t.Errorf("caller %d of client %d: %v (%v)", j, i, list, err)
					}
				})
			}
			wg.Wait()
			cancel()
			client.Close()
		}
	})
}
