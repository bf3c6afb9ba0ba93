package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// readRules reads what the config says about calls.
func (s *Stack) readRules() (err error) {
	if s.Policy, err = readPolicy(s.cfg); err != nil {
		return err
	}
	if s.approve, err = readApprove(s.cfg); err != nil {
		return err
	}
	if s.scanner, err = readScan(s.cfg); err != nil {
		return err
	}
	s.chat, err = readApprove(s.cfg, chatRules...)
	return err
}

// readPolicy returns the rules of a config. The error is a ConfigError.
func readPolicy(cfg *config.Config) (*policy.Policy, error) {
	var rules []policy.Rule
	var faults []error
	for _, r := range cfg.Policy.Rules {
		own := policy.Rule{
			Name: r.Name, Principals: r.Principals, Clients: r.Clients, Profiles: r.Profiles, Models: r.Models,
			Servers: r.Servers, Tools: r.Tools, Prompts: r.Prompts, Resources: r.Resources,
			Annotations: r.Annotations, Arguments: r.Arguments,
			Verdict: policy.Verdict(r.Decision), Reason: r.Reason, Edit: r.Edit,
		}
		if _, err := policy.Compile([]policy.Rule{own}); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: policy.rules: %w", cfg.Path, r.Line, err))
		}
		rules = append(rules, own)
	}
	if len(faults) > 0 {
		return nil, ConfigError{errors.Join(faults...)}
	}
	return policy.Compile(rules)
}

// A ConfigError is the error of New for a config that nothing can be made of; it names the file.
type ConfigError struct{ error }

// decide lets the config's policy decide about the calls of a source.
func (s *Stack) decide(source bridge.Source) bridge.Source {
	return policy.New(source, policy.Options{
		Policy: s.Policy, Desk: s.pool.Approvals, Wait: s.cfg.Policy.Approvals.Wait, Where: s.whereToDecide,
		Vet: s.scanner.Vet,
	})
}

// whereToDecide says how a person decides about an approval. Any client may read it: it has no path of a file.
func (s *Stack) whereToDecide(id string) string {
	command := "mcpbridge approvals decide --allow " + id
	if page := s.pool.Approvals.PageOf(id); page != "" {
		return page + " or " + command
	}
	return command
}

// configureApprovals makes the desk of the pool what the config says.
func (s *Stack) configureApprovals(opts *Options) {
	own := s.cfg.Policy.Approvals
	desk := policy.DeskOptions{Expiry: own.Expire, Most: own.Most, Each: own.Each, Here: opts.Ask, Alone: opts.Alone}
	if len(own.Command) > 0 {
		desk.Ask = func(a policy.Approval) { s.tell(a, own.Command, tellTime) }
	}
	s.pool.Approvals.Configure(desk)
}

// tellTime bounds the program that tells a person of an approval.
const tellTime = 30 * time.Second

// tell runs the config's command for an approval, which gets it as a line of JSON on its standard input, and in
// variables. It ends the command after most.
func (s *Stack) tell(a policy.Approval, command []string, most time.Duration) {
	var last process.Tail
	warn := func(err error) {
		s.log.Warn("policy.approvals.command has failed: it told nobody of an approval", "approval", a.ID, "reason", err, "stderr", last.String())
	}
	p, err := process.Start(process.Command{
		Path: command[0], Args: command[1:], Dir: s.cfg.Dir, Supervisor: s.pool.supervisor, Stderr: last.Add,
		Env: process.Environ(map[string]string{
			"MCPBRIDGE_APPROVAL": a.ID, "MCPBRIDGE_APPROVAL_TOOL": a.Target, "MCPBRIDGE_APPROVAL_URL": s.pool.Approvals.PageOf(a.ID),
		}),
	})
	if err != nil {
		warn(err)
		return
	}
	go io.Copy(io.Discard, p.Stdout)
	timer := time.AfterFunc(most, p.Stop) // before the write, as the command need not read
	in, _ := json.Marshal(a)              // cannot fail: texts, and arguments that have been validated
	p.Stdin.Write(append(in, '\n'))
	p.Stdin.Close()
	<-p.Done()
	timer.Stop()
	if err := p.Err(); err != nil {
		warn(err)
	}
	p.Finish()
}
