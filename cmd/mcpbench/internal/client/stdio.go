package client

import (
	"bufio"
	"bytes"
	"errors"
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
	wait map[int64]chan []byte // by id; nil when the process has ended
}

func openStdio(t Target) (Session, error) {
	p, err := process.Start(process.Command{Path: t.Command[0], Args: t.Command[1:], Env: append(os.Environ(), t.Env...)})
	if err != nil {
		return nil, err
	}
	s := &stdio{p: p, wait: map[int64]chan []byte{}, ended: make(chan struct{})}
	s.alarm = time.AfterFunc(time.Until(t.Until), p.Stop)
	go s.read()
	return s, nil
}

// read hands each answer to its caller until the process ends.
func (s *stdio) read() {
	defer close(s.ended)
	r := bufio.NewReaderSize(s.p.Stdout, 128<<10)
	for long := []byte(nil); ; {
		line, err := readLine(r, &long)
		if err != nil {
			break
		}
		if len(line) < 2 || line[0] != '{' { // a banner, not a message
			continue
		}
		id, method := kind(line)
		if method != nil {
			if again := reply(line); again != nil {
				s.Notify(again)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.wait {
		close(c)
	}
	s.wait = nil
}

func (s *stdio) Do(r Request) (Answer, error) {
	c := make(chan []byte, 1)
	s.mu.Lock()
	open := s.wait != nil
	if open {
		s.wait[r.ID] = c
	}
	s.mu.Unlock()
	if open && s.Notify(r.Message) == nil {
		if message, ok := <-c; ok {
			return Answer{Message: message}, nil
		}
	}
	s.p.Stop()
	<-s.ended
	if tail := s.p.Tail(); tail != "" {
		return Answer{}, errors.New("the process has ended: " + tail)
	}
	return Answer{}, errors.New("the process has ended")
}

func (s *stdio) Notify(message []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.line = append(append(s.line[:0], message...), '\n')
	_, err := s.p.Stdin.Write(s.line)
	return err
}

func (s *stdio) PID() int { return s.p.PID() }

func (s *stdio) Close() {
	s.alarm.Stop()
	s.p.Stop()
	<-s.ended
}
