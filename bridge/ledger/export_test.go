package ledger

// Known returns how many keys the book knows.
func (b *Book) Known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.keys)
}

// MaxLate is how long a line may wait for others.
const MaxLate = maxLate
