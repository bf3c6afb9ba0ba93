package client

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// stdio is a session with a process of its own, which many callers may share.
type stdio struct {
	p     *process.Process
	alarm *time.Timer
	ended chan struct{} // closed when read has returned

	writing sync.Mutex
	line    []byte // being written

	mu   sync.Mutex
	wait map[int64]chan []byte // by id
}

func openStdio(t Target) (carrier, int, error) {
	p, err := process.Start(process.Command{Path: t.Command[0], Args: t.Command[1:], Env: append(os.Environ(), t.Env...)})
	if err != nil {
		return nil, 0, err
	}
	s := &stdio{p: p, wait: map[int64]chan []byte{}, ended: make(chan struct{})}
	s.alarm = time.AfterFunc(time.Until(t.Until), p.Stop)
	go s.read()
	return s, p.PID(), nil
}

// read hands each answer to its caller until the process ends.
func (s *stdio) read() {
	defer close(s.ended)
	lines := bufio.NewScanner(s.p.Stdout)
	lines.Buffer(make([]byte, 128<<10), maxMessage)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 || line[0] != '{' { // a banner, not a message
			continue
		}
		id, method := kind(line)
		if method != nil {
			if again := reply(line); again != nil {
				s.notify(again)
			}
			continue
		}
		n, _ := strconv.ParseInt(string(id), 10, 64)
		s.mu.Lock()
		c := s.wait[n]
		delete(s.wait, n)
		s.mu.Unlock()
		if c != nil {
			c <- bytes.Clone(line)
		}
	}
}

func (s *stdio) exchange(r *Request) ([]byte, time.Time, error) {
	c := make(chan []byte, 1)
	s.mu.Lock()
	s.wait[r.ID] = c
	s.mu.Unlock()
	if s.notify(r.message) == nil {
		select {
		case message := <-c:
			return message, time.Time{}, nil
		case <-s.ended:
		}
	}
	s.Close()
	return nil, time.Time{}, fmt.Errorf("the process has ended: %s", s.p.Tail())
}

func (s *stdio) notify(message []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.line = append(append(s.line[:0], message...), '\n')
	_, err := s.p.Stdin.Write(s.line)
	return err
}

func (s *stdio) Close() {
	s.alarm.Stop()
	s.p.Stop()
	<-s.ended
}
