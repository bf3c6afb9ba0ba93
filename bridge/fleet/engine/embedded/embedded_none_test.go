//go:build !nats

package embedded

import (
	"errors"
	"testing"
)

func TestNotBuilt(t *testing.T) {
	if _, err := Start(Options{Cluster: "c"}); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("error %v", err)
	}
}
