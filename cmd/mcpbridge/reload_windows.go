package main

import "os"

// hangups returns no signals: the system ends a program whose console is closed.
func hangups() (signals <-chan os.Signal, stop func()) { return nil, func() {} }

func hasTerminal() bool { return false }
