package rates

// Count returns how many buckets are kept.
func Count(b *Buckets) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}
