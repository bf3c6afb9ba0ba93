package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestREADME compares what the README shows with what the program prints.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := example{"recordings", &out}
	if err := e.run(t.Context()); err != nil {
		t.Error(err)
	}
	_, want, _ := strings.Cut(string(readme), "$ go run ./examples/conversation\n")
	want, _, found := strings.Cut(want, "```")
	if !found || out.String() != want {
		t.Errorf("the program prints\n%s\nthe README shows\n%s", out.String(), want)
	}
}
