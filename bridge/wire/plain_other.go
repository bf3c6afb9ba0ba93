//go:build !amd64

package wire

import "encoding/binary"

// plain skips bytes from i on that special does not stop at: blocks of 32 of them.
func plain(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		w := b[i : i+32]
		if special(binary.LittleEndian.Uint64(w))|special(binary.LittleEndian.Uint64(w[8:]))|
			special(binary.LittleEndian.Uint64(w[16:]))|special(binary.LittleEndian.Uint64(w[24:])) != 0 {
			break
		}
	}
	return i
}

// stops returns a bit for each byte that special stops at.
func stops(b *[64]byte) (all uint64) {
	const each = 0x0101010101010101
	for i := 0; i < len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		// As in special, but without borrows: the high bits are set before each subtraction.
		low, backslash := w^0x02*each|0x80*each, w^'\\'*each|0x80*each
		high := (^(low - 0x21*each) | ^(backslash - each) | w) & (0x80 * each)
		all |= (high >> 7 * 0x0102040810204080 >> 56) << i
	}
	return all
}
