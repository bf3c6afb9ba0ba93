// Package engine is the small state that the nodes of a cluster share: who is there, who has which lease,
// keys with values, and events. It is kept by NATS 2.12 or later, with JetStream.
//
// Nothing large goes through it and no call waits for it. Each method says what it does while NATS is
// away: what is kept here is still read, what is to be written fails with [ErrUnavailable].
//
// Subjects begin with mb.<cluster>., streams with KV_mb_<cluster>_; a user of NATS needs
// those, $KV.mb_<cluster>_*.> and $JS.API.>.
package engine
