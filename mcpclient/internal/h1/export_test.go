package h1

// AwaitLate waits until no connection is about to come back.
func (p *Pool) AwaitLate() { p.late.Wait() }
