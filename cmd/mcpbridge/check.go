package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/diagnosis"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/findings"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const checkAbout = `Loads the config, connects every server and database, and reports what is wrong
and what to do: a line for each as soon as it is connected or has failed. Of a
server it also says what it offers and asks, and what its tools cost in tokens.
The exit code is 0 only if all is well; a note alone is not a fault.`

func runCheck(ctx context.Context, args []string, std streams) error {
	f := newFlags("check", "check [flags] [-- COMMAND [ARG…]]", checkAbout, std)
	asJSON := f.Bool("json", false, "print one JSON object, at the end")
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	for i := range cfg.Servers {
		cfg.Servers[i].Lazy = false // check connects every server
	}
	out, log := std.out, std.err
	if *asJSON {
		out, log = io.Discard, io.Discard // the report has all of it
	}
	p, err := newWaiting(f, cfg, stack.Options{Once: true}, log)
	if err != nil {
		return err
	}
	defer p.close()
	c := &checker{program: p, machine: diagnosis.This(), out: out, report: checkReport{Config: cfg.Path, Servers: []checkedServer{}}}
	c.servers(ctx, std.err)
	if ctx.Err() == nil {
		c.rest(ctx)
		c.eras(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case *asJSON:
		err = printJSON(std.out, &c.report)
	}
	if err == nil && !c.report.OK {
		err = &exitError{code: exitFailed}
	}
	return err
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// A checkReport is what check --json prints.
type checkReport struct {
	OK       bool            `json:"ok"`
	Config   string          `json:"config,omitempty"`
	Servers  []checkedServer `json:"servers"`
	APIs     []checkedAPI    `json:"apis,omitempty"`
	Warnings []string        `json:"warnings,omitempty"` // of the config
	Faults   []string        `json:"faults,omitempty"`   // tools that are missing or changed, and that all calls are stopped
	Notes    []string        `json:"notes,omitempty"`    // nothing is wrong, and something could be better
}

type checkedServer struct {
	Name         string   `json:"name"`
	OK           bool     `json:"ok"`
	Took         int64    `json:"ms"`
	Server       string   `json:"server,omitempty"` // name and version
	Revision     string   `json:"revision,omitempty"`
	Modern       bool     `json:"modern"` // it speaks revision 2026-07-28, be it beside that one
	Era          string   `json:"era,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Asks         []string `json:"asks,omitempty"` // client capabilities that it has used
	Tools        int      `json:"tools"`
	Prompts      int      `json:"prompts"`
	Resources    int      `json:"resources"`
	Tokens       *price   `json:"tokens,omitempty"`
	Node         string   `json:"node,omitempty"`    // version of the Node.js that it runs on
	Sandbox      string   `json:"sandbox,omitempty"` // what it enforces
	Reads        []string `json:"reads,omitempty"`   // what its program is made of, which its sandbox lets it read
	Reason       string   `json:"reason,omitempty"`
	Output       string   `json:"output,omitempty"` // what its process printed last
	Next         string   `json:"next,omitempty"`   // what to do
	Notes        []string `json:"notes,omitempty"`

	Login      *oauth.Status            `json:"login,omitempty"`
	Accounts   map[string]*oauth.Status `json:"accounts,omitempty"`   // by principal, where each has its own
	WantsLogin bool                     `json:"wantsLogin,omitempty"` // a person has to log in
}

type checkedAPI struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// A price is what tools cost in each request, in the cheapest and in the dearest format.
type price struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// A checker checks a program, and prints each result as it comes.
type checker struct {
	*program
	machine *diagnosis.Machine
	out     io.Writer
	report  checkReport

	loginNext bool // a server that wants a login gets it next, and is not said to have failed
}

// servers connects the servers, as a client that lets them ask everything.
func (c *checker) servers(ctx context.Context, stderr io.Writer) {
	c.caller.Capabilities = []byte(`{"elicitation":{},"roots":{},"sampling":{}}`)
	c.caller.Ask = func(_ context.Context, method string, _ []byte) ([]byte, *toolformat.Error) {
		if method == wire.MethodRootsList {
			return []byte(`{"roots":[]}`), nil
		}
		return nil, toolformat.Errorf(toolformat.Denied, "check answers no questions")
	}
	if err := c.open(ctx); err != nil {
		return // so does the state of each server
	}
	progress := output.NewProgress(stderr)
	defer progress.End()
	c.await(ctx, progress, func(st *stack.ServerState) {
		took := progress.Remove(st.Name)
		checked := c.server(ctx, st, took)
		if !(checked.WantsLogin && c.loginNext) {
			progress.Above(func() { checked.print(c.out, stateLine(st)) })
		}
		c.report.Servers = append(c.report.Servers, checked)
	})
	order := func(name string) int {
		return slices.IndexFunc(c.cfg.Servers, func(s config.Server) bool { return s.Name == name })
	}
	slices.SortFunc(c.report.Servers, func(a, b checkedServer) int { return order(a.Name) - order(b.Name) })
}

// server returns what is known of a server that is connected or has failed.
func (c *checker) server(ctx context.Context, st *stack.ServerState, took time.Duration) checkedServer {
	server := c.config(st.Name)
	command := commandOf(server)
	s := checkedServer{
		Name: st.Name, OK: st.Up(), Took: took.Milliseconds(), Server: strings.TrimSpace(st.Server), Revision: st.Revision,
		Tools: st.Items[bridge.Tools], Prompts: st.Items[bridge.Prompts], Resources: st.Items[bridge.Resources],
		Reason: st.Reason, Output: st.Output, Sandbox: st.Sandbox,
	}
	if server.Sandbox != nil {
		s.Reads = readsOf(server)
	}
	if s.Accounts = accountsAt(c.Stack, st.Name); s.Accounts != nil {
		s.Notes = append(s.Notes, accountsLine(s.Accounts))
		own, _ := c.Login(st.Name).Status()
		s.OK = s.OK || own == nil && c.Login(st.Name).Wanted() != nil // nobody needs the operator's login
	}
	if !s.OK && (server.OAuth.OfCaller || server.Forward) && strings.Contains(st.Reason, diagnosis.WithoutToken) {
		s.OK = true
		s.Notes = append(s.Notes, "check has no access token of a caller, without which it cannot test this server: call one of its tools from a client that sends a token")
	}
	if !s.OK && server.Lender != "" && server.Fault == nil { // only serve has it
		s.OK = true
		s.Notes = append(s.Notes, "mcpbridge ps shows whether it is lent to a serve that runs")
	}
	node, old := c.machine.Node(ctx, &command)
	s.Node = node
	if !s.OK {
		s.Next = (&diagnosis.Failure{Command: command, URL: server.URL, Sandbox: server.Sandbox != nil, Reason: st.Reason, Output: st.Output}).Next()
		login := c.Login(st.Name)
		s.WantsLogin = login != nil && login.Wanted() != nil
		if server.Fault != nil || s.WantsLogin { // it says so itself
			s.Next = ""
		} else if old {
			s.Next = diagnosis.TooOld(node)
		}
		return s
	}
	if old {
		s.Notes = append(s.Notes, diagnosis.TooOld(node))
	}
	if !st.Up() {
		return s
	}
	if s.Era = "legacy"; st.Revision == wire.ModernRevision {
		s.Era = "modern"
	}
	var capabilities map[string]json.RawMessage
	if json.Unmarshal(st.Capabilities, &capabilities) == nil {
		s.Capabilities = slices.Sorted(maps.Keys(capabilities))
	}
	s.Tokens = priceOf(st.Tools)
	s.Notes = append(s.Notes, findingsOf(st)...)
	if login := c.Login(st.Name); login != nil {
		s.Login, _ = login.Status() // which the server has just used
	}
	if s.Asks = st.Asks; len(s.Asks) > 0 && c.cfg.Path != "" && server.Command != "" && server.Sharing != "session" {
		s.Notes = append(s.Notes, fmt.Sprintf(`it asks its client (%s), which a server that clients share cannot: give it "sharing": "session" in the config, so that each client has its own`, strings.Join(s.Asks, ", ")))
	}
	return s
}

func (c *checker) config(name string) *config.Server {
	i := slices.IndexFunc(c.cfg.Servers, func(s config.Server) bool { return s.Name == name })
	return &c.cfg.Servers[i]
}

// readsOf returns what the program of a server is made of and is not in a folder that is listed, too.
func readsOf(s *config.Server) (files []string) {
	command := process.Command{Path: s.Command, Args: s.Args, Env: process.Environ(s.Env), Dir: s.Dir}
	path, err := command.Lookup()
	if err != nil {
		return nil
	}
	for _, file := range sandbox.Needs(&exec.Cmd{Path: path, Args: append([]string{s.Command}, s.Args...), Env: command.Env, Dir: s.Dir}) {
		_, err := os.Stat(file)
		covered := slices.ContainsFunc(append(files, "/usr", "/bin"), func(folder string) bool { return strings.HasPrefix(file, folder+"/") })
		if err == nil && !covered && file != "/usr" { // they are sorted
			files = append(files, file)
		}
	}
	return files
}

func commandOf(s *config.Server) diagnosis.Command {
	return diagnosis.Command{Path: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir}
}

// priceOf returns what tools cost, or nil without any.
func priceOf(list *bridge.List) *price {
	if list == nil || len(list.Items) == 0 {
		return nil
	}
	_, formats, err := lintTargets(nil)
	if err != nil {
		return nil
	}
	report, err := toolformat.Lint(toolsOf(list), formats)
	if err != nil {
		return nil
	}
	p := &price{Min: report.Targets[0].Tokens, Max: report.Targets[0].Tokens}
	for _, t := range report.Targets {
		p.Min, p.Max = min(p.Min, t.Tokens), max(p.Max, t.Tokens)
	}
	return p
}

// print prints the row of a server, and below it what else is known.
func (s *checkedServer) print(w io.Writer, state string) {
	if !s.OK {
		output.Item(w, "FAIL ", strings.Replace(state, ": failed: ", ": ", 1))
		if s.Next != "" {
			output.Item(w, "     ", "next: "+s.Next)
		}
		return
	}
	output.Item(w, "ok   ", strings.Replace(state, ": failed: ", ": ", 1))
	if s.Era == "" { // nobody has logged in to look
		s.printNotes(w)
		return
	}
	facts := []string{s.Era + " era"}
	if len(s.Capabilities) > 0 {
		facts = append(facts, "offers "+strings.Join(s.Capabilities, ", "))
	}
	if s.Tokens != nil {
		facts = append(facts, "costs "+s.Tokens.String())
	}
	if s.Login != nil {
		facts = append(facts, "logged in "+loginLine(s.Login, time.Now()))
	}
	if s.Node != "" {
		facts = append(facts, "Node.js "+s.Node)
	}
	output.Item(w, "     ", terminal.Inline(strings.Join(facts, "; ")))
	if s.Sandbox != "" {
		output.Item(w, "     ", "sandbox: "+terminal.Inline(s.Sandbox))
	}
	if len(s.Reads) > 0 {
		output.Item(w, "     ", "its program reads "+terminal.Inline(strings.Join(s.Reads, " "))+", and files of the system")
	}
	s.printNotes(w)
}

func (s *checkedServer) printNotes(w io.Writer) {
	for _, note := range s.Notes {
		output.Item(w, "     ", "note: "+terminal.Inline(note))
	}
}

func (p *price) String() string {
	if p.Min == p.Max {
		return fmt.Sprintf("%d tokens", p.Min)
	}
	return fmt.Sprintf("%d–%d tokens", p.Min, p.Max)
}

// rest checks what belongs to no server.
func (c *checker) rest(ctx context.Context) {
	r := &c.report
	var across []string
	if c.own != nil {
		if list, _ := c.own.List(ctx, bridge.Tools); list != nil { // which finds the problems with tools
			tools := toolsOf(list)
			across = append(findingsAcross(tools), c.idle(tools)...)
		}
	}
	for _, api := range c.CheckAPIs(ctx) {
		detail := terminal.Inline(api.String()) // a driver's error may have several lines
		r.APIs = append(r.APIs, checkedAPI{api.Name, api.Err == nil, detail})
		output.Item(c.out, map[bool]string{true: "ok   ", false: "FAIL "}[api.Err == nil], detail)
	}
	r.Warnings = c.cfg.Warnings
	var faults, warnings []string
	for _, problem := range c.Problems() {
		if problem.LeftOut {
			faults = append(faults, problem.Text)
		} else {
			warnings = append(warnings, problem.Text)
		}
	}
	if reason := c.Approvals.Stopped(); reason != "" {
		faults = append(faults, "all calls are stopped (mcpbridge stop --lift ends that): "+reason)
	}
	warnings = append(warnings, c.Warnings()...)
	r.Faults = slices.Concat(faults, warnings)
	r.Notes = slices.Concat(c.Advice(), across, c.unmet())
	if note := c.shellOnly(); note != "" {
		r.Notes = append(r.Notes, note)
	}
	away := c.Models().Faults()
	for _, name := range slices.Sorted(maps.Keys(away)) {
		r.Notes = append(r.Notes, fmt.Sprintf("provider %s is not available: %v", name, away[name]))
	}
	if c.cfg.Listen != "" {
		if note := diagnosis.InUse(c.cfg.Listen); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	put := func(front string, texts []string, shown func(string) string) {
		for _, text := range texts {
			output.Item(c.out, front, shown(text))
		}
	}
	put("FAIL ", faults, terminal.Clean) // that of a definition may have several lines
	put("warn ", warnings, terminal.Inline)
	put("note ", r.Notes, terminal.Inline)
	r.OK = len(r.Warnings)+len(r.Faults) == 0 && len(r.Servers) == len(c.cfg.Servers)
	for _, s := range r.Servers {
		r.OK = r.OK && s.OK
	}
	for _, api := range r.APIs {
		r.OK = r.OK && api.OK
	}
}

// eraWait bounds the wait for a server's answer to a question that many do not know.
const eraWait = 2 * time.Second

// eras asks the servers that were spoken to in the legacy era whether they speak the modern one, too. It comes
// last, as some end at that.
func (c *checker) eras(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eraWait)
	defer cancel()
	var asking sync.WaitGroup
	clients := c.Clients()
	for i := range c.report.Servers {
		s := &c.report.Servers[i]
		if s.Modern = s.Era == "modern"; s.Era != "legacy" {
			continue
		}
		client := slices.IndexFunc(clients, func(client *mcpclient.Client) bool { return client.Name() == s.Name })
		asking.Go(func() { s.Modern = clients[client].SpeaksModern(ctx) })
	}
	asking.Wait()
	for _, s := range c.report.Servers {
		if s.Modern && s.Era == "legacy" {
			output.Item(c.out, "note ", terminal.Inline(s.Name)+": it speaks the modern era (MCP "+wire.ModernRevision+"), too")
		}
	}
}

// findingsOf returns what is found in what a server defines, as far as that is known.
func findingsOf(st *stack.ServerState) (all []string) {
	var notes []toolformat.Note
	if st.Tools != nil {
		for _, tool := range toolsOf(st.Tools) {
			notes = append(notes, findings.Of(&tool)...)
		}
	}
	for _, n := range append(notes, findingsBeside(st)...) {
		all = append(all, n.String())
	}
	return all
}

// findingsBeside returns what is found in the prompts and the instructions of a server.
func findingsBeside(st *stack.ServerState) (all []toolformat.Note) {
	if st.Prompts != nil {
		for _, it := range st.Prompts.Items {
			all = append(all, findings.OfPrompt(it.Key, it.Raw)...)
		}
	}
	text, _ := wire.Text(wire.Lookup(st.About, "instructions"))
	return append(all, findings.OfInstructions(text)...)
}

// findingsAcross returns what is found in tools beside those of other servers.
func findingsAcross(tools []toolformat.Tool) (all []string) {
	for _, notes := range findings.Across(tools) {
		for _, n := range notes {
			all = append(all, n.String())
		}
	}
	return all
}

// shellOnly returns a note on the commands that an editor may not find.
func (c *checker) shellOnly() string {
	var programs, folders []string
	if c.cfg.Path == "" { // no editor has it
		return ""
	}
	for i := range c.cfg.Servers {
		command := commandOf(&c.cfg.Servers[i])
		folder := c.machine.ShellOnly(&command)
		if folder == "" || slices.Contains(programs, command.Path) {
			continue
		}
		programs = append(programs, command.Path)
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if len(programs) == 0 {
		return ""
	}
	return diagnosis.WithPath(programs, folders)
}
