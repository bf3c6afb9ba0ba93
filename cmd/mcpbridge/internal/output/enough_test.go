package output

import (
	"io"
	"os"
	"testing"
)

func TestEnough(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	if _, err := out.WriteString("x"); !Enough(err) {
		t.Errorf("without a reader: %v", err)
	}
	out.Close()
	if _, err := out.WriteString("x"); Enough(err) || Enough(io.ErrUnexpectedEOF) {
		t.Errorf("another error: %v", err)
	}
}
