// Package daemon lets the windows of one user share the servers of a config: a process for each config,
// the daemon, runs them, and what an editor starts for a window, the shim, only carries messages to it.
//
// # Files
//
// place.go says where the daemon of a config is reached, place_*.go with what means of the system, and
// peer_*.go who is at the other end; hello.go has the handshake, start.go connects and starts a daemon
// where there is none, server.go is the daemon's side, shim.go the window's, journal.go what a shim
// remembers to go on with another daemon when its own was killed.
//
// # Locks of a place
//
// A daemon holds .lock from before it listens until nothing of it runs any more. Whoever starts a daemon
// holds .start until it can be spoken to. The system frees both with the process, however it ends.
package daemon
