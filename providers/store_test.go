package providers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

func TestMemory(t *testing.T) {
	m := &providers.Memory{Most: 3}
	if _, err := m.Load(t.Context(), "x"); !errors.Is(err, providers.ErrNoConversation) {
		t.Error(err)
	}
	for i := range 4 {
		c := &providers.Transcript{Heading: providers.Heading{ID: fmt.Sprint(i), Updated: time.Unix(int64(i), 0)}}
		c.Messages = []providers.Message{providers.UserText("hi")}
		if err := m.Save(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Title = "changed after it was saved"
	}
	all, err := m.List(t.Context(), 2)
	if err != nil || len(all) != 2 || all[0].ID != "3" || all[1].ID != "2" || all[0].Title != "" {
		t.Errorf("%v, %+v", err, all)
	}
	if all, err = m.List(t.Context(), -1); err != nil || len(all) != 3 {
		t.Errorf("%v, %+v", err, all)
	}
	if err := (&providers.Memory{Most: -1}).Save(t.Context(), &providers.Transcript{}); err != nil {
		t.Error(err)
	}
	if _, err := m.Load(t.Context(), "0"); !errors.Is(err, providers.ErrNoConversation) {
		t.Errorf("the oldest is still there: %v", err)
	}
	if c, err := m.Load(t.Context(), "1"); err != nil || len(c.Messages) != 1 {
		t.Errorf("%v, %+v", err, c)
	}
}
