package wire

// plain skips bytes from i on that special does not stop at, all but the last 15 of b. SSE2, which
// each amd64 has, does that four times as fast as a loop over words.
//
//go:noescape
func plain(b []byte, i int) int

// stops returns a bit for each byte that special stops at.
//
//go:noescape
func stops(b *[64]byte) uint64
