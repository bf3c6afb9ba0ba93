package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// protocol is the version of the handshake: one line of JSON each way. A daemon of another version
// cannot be spoken to.
const protocol = 1

const (
	helloBytes = 8 << 20 // of a line of the handshake: environments can be large
	helloTime  = 10 * time.Second
)

// Hello is the first line of a connection.
type Hello struct {
	Protocol int    `json:"mcpbridge"`
	Version  string `json:"version"` // of the program

	Executable string    `json:"executable,omitempty"` // of a window
	Built      time.Time `json:"built,omitzero"`       // when the file of Executable was written

	Config string `json:"config"`          // the real path
	Named  string `json:"named,omitempty"` // the path by which a window reads it; "" means that of the daemon

	Command  *Command `json:"command,omitempty"`  // what a command line asks for; nil for a window
	OfConfig string   `json:"ofConfig,omitempty"` // the real path of the only config that Command is about; "" means any

	Folder   []byte   `json:"cwd,omitempty"`      // working folder of the window; it need not be UTF-8
	Environ  [][]byte `json:"env,omitempty"`      // of the window, NAME=VALUE
	Profile  string   `json:"profile,omitempty"`  // that the window asks for
	Repeated []string `json:"repeated,omitempty"` // raw ids of the requests that a daemon before this one may have run
}

// NewHello returns a Hello with the folder and the environment of this process.
func NewHello() *Hello {
	folder, _ := os.Getwd()
	h := &Hello{Folder: []byte(folder)}
	for _, entry := range os.Environ() {
		h.Environ = append(h.Environ, []byte(entry))
	}
	return h
}

// A Command asks a daemon or a server about itself, or changes it.
type Command struct {
	Name   string `json:"name"`             // ps, logs, restart, stop, reload, open, nodes, drain, approvals, decide, stop-calls, lift, book, audit
	Server string `json:"server,omitempty"` // that it is about; "" means all, or the program
	Last   int    `json:"last,omitempty"`   // of logs: how many lines; negative means all
	Follow bool   `json:"follow,omitempty"` // of logs: what comes, too
	All    bool   `json:"all,omitempty"`    // of ps: the other nodes of its cluster, too
	Notice bool   `json:"notice,omitempty"` // it is carried out also once who has sent it is not there to be welcomed

	ID     string          `json:"id,omitempty"`     // of decide: the approval
	Answer json.RawMessage `json:"answer,omitempty"` // of decide
	Reason string          `json:"reason,omitempty"` // of stop-calls

	Book  json.RawMessage `json:"book,omitempty"`  // of book: what is asked of the books of a cluster
	Audit json.RawMessage `json:"audit,omitempty"` // of audit: the request to the nodes of a cluster

	Settle time.Duration `json:"settle,omitempty"` // of drain: the wait before calls that run are looked for
	Within time.Duration `json:"within,omitempty"` // of drain: the wait for those
}

// OtherConfig is the Error for a command about another config.
const OtherConfig = "this is about another config"

// Welcome answers Hello. After it a window's connection has MCP messages, one a line; that of a
// command its output.
type Welcome struct {
	Protocol     int    `json:"mcpbridge"`
	Version      string `json:"version"`
	PID          int    `json:"pid"`
	MessageBytes int    `json:"messageBytes,omitempty"` // that a message may have
	Profiles     bool   `json:"profiles,omitempty"`     // it knows [Hello].Profile
	Error        string `json:"error,omitempty"`        // why the connection is of no use
}

// writeLine writes one line of the handshake.
func writeLine(conn net.Conn, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	_, err = conn.Write(append(line, '\n'))
	return errors.Join(err, conn.SetDeadline(time.Time{}))
}

// readLine reads one line of the handshake.
func readLine(conn net.Conn, in *bufio.Reader, v any) error {
	if err := conn.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > helloBytes {
			return fmt.Errorf("a handshake of more than %d MiB", helloBytes>>20)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("not a handshake: %w", err)
	}
	return conn.SetReadDeadline(time.Time{})
}
