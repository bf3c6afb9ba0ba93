package weblogin

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Fleet has the nodes behind one address, each with a Desk of its own.
type Fleet struct {
	// NewID returns an id for a login, which says that this node has it.
	NewID func() string

	// Elsewhere lets the node that has a login answer a request, whose body is given. answered is false if
	// that node is this one or has ended. Before an error nothing has been answered: if it is a
	// *toolformat.Error, the request may be sent again.
	Elsewhere func(w http.ResponseWriter, r *http.Request, id string, body []byte) (answered bool, err error)

	// Finish returns the Outcomes of Desk.FinishHere at the other nodes.
	Finish func(ctx context.Context, of Account, code string) []Outcome
}

// An Outcome is what has become of a code at a node.
type Outcome struct {
	Stage int    `json:"stage"`
	Who   string `json:"who,omitempty"`   // has logged in, if that is known
	Fault string `json:"fault,omitempty"` // why the login cannot be kept
}

// The stages, the most telling last.
const (
	noLogin    = iota // of the account is under way
	unfinished        // nobody has logged in so far
	wrongCode
	Away   // it is unknown what the node has
	failed // the login could not be kept
	kept
)

// SetFleet makes the Desk that of a node.
func (d *Desk) SetFleet(fleet Fleet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fleet = fleet
}

func (d *Desk) nodes() Fleet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fleet
}

// elsewhere lets the node that has a login answer a request, or says that it cannot, and reports whether the request
// has been answered. The form of a page is empty.
func (d *Desk) elsewhere(w http.ResponseWriter, r *http.Request, id string) (answered bool) {
	forward := d.nodes().Elsewhere
	if forward == nil {
		return false
	}
	answered, err := forward(w, r, id, []byte{})
	switch {
	case err == nil:
		return answered
	case errors.As(err, new(*toolformat.Error)):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "The node of the bridge that has this login cannot be reached: try again in a moment.")
	default:
		refuse(w, http.StatusBadGateway, "The node of the bridge that had this login was lost: ask for another link.")
	}
	return true
}
