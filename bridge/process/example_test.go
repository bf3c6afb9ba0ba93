//go:build unix

package process_test

import (
	"fmt"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

func ExampleStart() {
	p, err := process.Start(process.Command{
		Path: "cat", Env: process.Environ(nil),
		Stderr: func(line string) { fmt.Println("stderr:", line) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Stop()
	fmt.Fprint(p.Stdin, "hello")
	p.Stdin.Close()
	out, err := io.ReadAll(p.Stdout)
	fmt.Println(string(out), err)
	<-p.Done()
	fmt.Println(p.Err())

	_, err = process.Start(process.Command{Path: "no-such-program", Env: process.Environ(nil)})
	fmt.Println(err)
	// Output:
	// hello <nil>
	// <nil>
	// command "no-such-program" not found in PATH (is it installed?)
}
