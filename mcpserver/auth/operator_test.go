package auth

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Operator
		nobody := func(string) bool { return false }
		late := o.Ticket()
		time.Sleep(ticketLife)
		if _, ok := o.Redeem(late, ""); ok {
			t.Error("a ticket is good for longer than it says")
		}
		first := o.Ticket()
		for range maxTickets {
			time.Sleep(time.Second)
			o.Ticket()
		}
		if _, ok := o.Redeem(first, ""); ok || len(o.tickets) > maxTickets {
			t.Errorf("%d tickets", len(o.tickets))
		}
		cookie, ok := o.Redeem(o.Ticket(), "")
		time.Sleep(visitIdle - time.Second)
		id := o.Find(cookie, nobody)
		if !ok || id == nil || id.Principal.Name != OperatorName || !o.Admits(id.Credential, nobody) {
			t.Fatalf("the visit is %+v", id)
		}
		time.Sleep(visitIdle)
		if o.Admits(id.Credential, nobody) || o.Find(cookie, nobody) != nil {
			t.Error("an unused visit lasts")
		}
		soon := o.Begin(&Identity{Credential: "token", Expires: time.Now().Add(time.Hour)})
		if id := o.Find(soon, func(c string) bool { return c == "token" }); id == nil || id.Expires.IsZero() {
			t.Errorf("by a token it is %+v", id)
		}
		time.Sleep(time.Hour)
		if o.Find(soon, func(string) bool { return true }) != nil {
			t.Error("it outlives its token")
		}
		for range 2 * maxVisits {
			o.Begin(&Identity{})
		}
		if len(o.visits) != maxVisits {
			t.Errorf("%d visits", len(o.visits))
		}
	})
}

// A ticket that a second browser uses ends the visit of the first, who may be a stranger.
func TestTicketUsedTwice(t *testing.T) {
	var o Operator
	nobody := func(string) bool { return false }
	ticket := o.Ticket()
	stranger, _ := o.Redeem(ticket, "")
	if again, ok := o.Redeem(ticket, stranger); !ok || again != stranger || o.Find(stranger, nobody) == nil {
		t.Error("a browser cannot use its ticket again")
	}
	other := o.Begin(&Identity{Credential: "token"})
	if _, ok := o.Redeem(ticket, other); ok {
		t.Error("a ticket lets in two browsers")
	}
	if o.Find(stranger, nobody) != nil {
		t.Error("the visit of the first goes on")
	}
	if _, ok := o.Redeem(ticket, stranger); ok {
		t.Error("the ticket of a visit that has been ended begins another")
	}
	if o.Find(other, func(string) bool { return true }) == nil {
		t.Error("the other visit has ended, too")
	}
}
