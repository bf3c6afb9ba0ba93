package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1   // the tool failed, or a server or tool was left out
	exitUsage       = 2   // bad usage, bad config, no such tool
	exitAway        = 3   // denied, away or timed out
	exitInterrupted = 130 // interrupted
)

func main() {
	// A client may close its end of standard error and continue. Without a handler the next line of
	// the log would end the program with SIGPIPE; with one, the write only fails. The signal is not
	// ignored, as servers would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal kills the program
	}()
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: output.New(os.Stdout), err: output.New(os.Stderr)}))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
	inspect  func(*sourceFlags) // gets the flags of a command in place of its run; nil to run it
}

type command struct {
	name, usage, about string
	run                func(context.Context, []string, streams) error
}

// commands returns all commands, in the order of the help.
func commands() []command {
	return []command{
		{"serve", "serve [--config FILE] [--listen HOST:PORT]", "serve MCP over HTTP, SSE and WebSocket until a signal", runServe},
		{"stdio", "stdio [--config FILE] [--alone]", "serve MCP on standard input and output, for editors and desktop apps", runStdio},
		{"lend", "lend --to URL [--name NAME] [--config FILE] [--profile NAME]", "lend servers of this machine to a serve elsewhere", runLend},
		{"daemon", "daemon [--config FILE]", "serve all windows of this user; stdio starts it", runDaemon},
		{"tools list", "tools list [--config FILE] [--format FORMAT] [--json]", "list the tools of all servers", runToolsList},
		{"tools call", "tools call NAME [--ARGUMENT VALUE]… [--args JSON] [--context K=V]… [--json] [--out DIR]", "call one tool and print its result", runToolsCall},
		{"prompts list", "prompts list [--config FILE] [--json]", "list the prompts of all servers", runPromptsList},
		{"prompts get", "prompts get NAME [--ARGUMENT VALUE]… [--json]", "get one prompt and print its messages", runPromptsGet},
		{"resources list", "resources list [--config FILE] [--json]", "list the resources of all servers", runResourcesList},
		{"resources templates", "resources templates [--config FILE] [--json]", "list the templates of resources of all servers", runResourcesTemplates},
		{"resources read", "resources read URI [--out FILE] [--json]", "read one resource", runResourcesRead},
		{"ask", "ask PROMPT [--provider P] [--model M] [--file FILE]… [--json]", "ask a model, which may use all tools, and print its answer", runAsk},
		{"chat", "chat [--resume [ID]] [--provider P] [--model M]", "talk with a model, which may use all tools", runChat},
		{"convert", "convert [--from FORMAT] --to FORMAT [--json] [FILE]", "convert tool definitions from one provider's format to another's", runConvert},
		{"lint", "lint [--config FILE] [--for PROVIDER]… [--json] [FILE | URL]", "report which tool fails on which provider, and what each costs", runLint},
		{"gen", "gen [--check] [--json] [PACKAGES]", "generate tools from the marked functions of Go packages", runGen},
		{"add", "add NAME URL | -- COMMAND [ARG…] | --from FILE", "add a server to the config", runAdd},
		{"remove", "remove NAME… [--json]", "remove servers from the config", runRemove},
		{"list", "list [--config FILE] [--json]", "list the servers of the config", runListServers},
		{"enable", "enable NAME… [--json]", "turn servers of the config on", runEnable},
		{"disable", "disable NAME… [--json]", "turn servers of the config off, without removing them", runDisable},
		{"check", "check [--config FILE] [--json]", "connect to every server and database and report what is wrong", runCheck},
		{"init", "init [CLIENT…] [--yes] [--dry-run]", "take over the servers of all editors and register the bridge in them", runInit},
		{"connect", "connect [CLIENT…] [--dry-run] [--http | --ws] [--project]", "register the bridge in editors and desktop apps", runConnect},
		{"disconnect", "disconnect [CLIENT…] [--dry-run]", "take the bridge out of them again", runDisconnect},
		{"import", "import [CLIENT…] [--move] [--project] [--dry-run]", "copy the servers that they have into the config", runImport},
		{"login", "login SERVER [--no-browser] [--scope SCOPE] [--config FILE]", "log in to a server that wants OAuth", runLogin},
		{"logout", "logout SERVER [--config FILE]", "forget a login", runLogout},
		{"pins accept", "pins accept SERVER [TOOL] [--config FILE]", "accept new and changed definitions of a server", runPinsAccept},
		{"pins", "pins [SERVER] [--config FILE] [--json]", "show which definitions of servers are new or have changed", runPins},
		{"audit verify", "audit verify [FILE] [--all] [--config FILE]", "check that no line of the audit was changed", runAuditVerify},
		{"audit query", "audit query [FILE] [--since TIME] [--tool PATTERN] [--unknown] [--all] [--json]", "print calls of the audit, or those that may have run", runAuditQuery},
		{"policy test", "policy test NAME [--args JSON] [--principal P] [--client NAME]", "show what the policy decides about a call, and why", runPolicyTest},
		{"approvals decide", "approvals decide ID --allow | --deny [--note TEXT] [--args JSON]", "decide about a call that waits for approval", runApprovalsDecide},
		{"approvals show", "approvals show ID [--json]", "show a call that waits for approval, or was decided about", runApprovalsShow},
		{"approvals", "approvals [--config FILE] [--json]", "list the calls that wait for approval", runApprovals},
		{"ps", "ps [--config FILE] [--all] [--json]", "list the running daemons and serves, with their servers", runPs},
		{"nodes", "nodes [--config FILE] [--json]", "list the nodes of the cluster of a running serve", runNodes},
		{"drain", "drain [--config FILE] [--settle 5s] [--within 1m]", "end the running serves without losing a call", runDrain},
		{"logs", "logs [NAME] [-f] [--config FILE]", "print the log of the running daemons and serves, or of one server", runLogs},
		{"restart", "restart NAME [--config FILE]", "restart a server of the running daemons and serves", runRestart},
		{"stop", "stop [NAME | --all-calls | --lift] [--config FILE]", "stop a server, the daemons and serves themselves, or all calls", runStop},
		{"open", "open [--no-browser] [--config FILE]", "open the console of a running serve", runOpen},
		{"reload", "reload [--config FILE]", "make the running daemons and serves read their configs again", runReload},
		{"secret set", "secret set NAME", "keep a secret for ${keychain:NAME} in the config", runSecretSet},
		{"secret list", "secret list [--config FILE] [--json]", "list the secrets that are kept, without their values", runSecretList},
		{"secret rm", "secret rm NAME…", "remove secrets that are kept", runSecretRemove},
		{"service", "service install|uninstall|status [--config FILE] [--json]", "let systemd start the daemon of a config", runService},
		{"token create", "token create NAME [--profile P]… [--expires 30d] [--json]", "make a token with which a client may use serve", runTokenCreate},
		{"token list", "token list [--config FILE] [--json]", "list the tokens that were made", runTokenList},
		{"token remove", "token remove NAME… [--config FILE]", "shut out the holders of tokens", runTokenRemove},
		{"completion", "completion bash|zsh|fish", "print the script of a shell that completes commands, tools and arguments", runCompletion},
		{"version", "version [--json]", "print the version, the commit and the MCP revisions", runVersion},
	}
}

const helpSingle = `
Commands that connect servers accept a single one in place of a config:
`

// single are the forms of those commands.
func single() []command {
	return []command{
		{usage: "serve -- COMMAND [ARG…]", about: "a program, spoken to over stdio"},
		{usage: "stdio --upstream URL", about: "http(s):// or ws(s)://"},
	}
}

const helpTail = `
Without --config the config is ./mcpbridge.json, then mcpbridge/mcpbridge.json
in the user's config folder. mcpbridge COMMAND --help lists a command's flags.

Exit codes: 0 done · 1 the tool failed, or a server or tool was left out · 2 bad
usage, bad config, no such tool · 3 denied, away or timed out · 130 interrupted.
`

func help(w io.Writer) {
	output.Help(w, "mcpbridge serves many MCP servers as a single one.\n\n")
	printUsages(w, commands())
	output.Help(w, helpSingle)
	printUsages(w, single())
	output.Help(w, helpTail)
}

func printUsages(w io.Writer, list []command) {
	for _, c := range list {
		output.Usage(w, "  mcpbridge ", c.usage)
		output.HelpItem(w, "        ", c.about)
	}
}

// group returns the commands of two words that begin with word.
func group(word string) (list []command) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, word+" ") {
			list = append(list, c)
		}
	}
	return list
}

// run runs a command line and returns the exit code. One that cannot write what it is asked for has failed.
func run(ctx context.Context, args []string, std streams) int {
	out := output.Keep(std.out)
	std.out = out
	code := runCommand(ctx, args, std)
	if err := out.Err(); err != nil && code == exitDone && !output.Enough(err) {
		return exitCode(ctx, err, std.err)
	}
	return code
}

func runCommand(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 {
		help(std.err)
		return exitUsage
	}
	if args[0] == "help" {
		args = append(args[1:], "--help")
	}
	switch args[0] {
	case "--help", "-h":
		help(std.out)
		return exitDone
	case "--version", "-v", "-V":
		args[0] = "version"
	case completeCommand:
		return exitCode(ctx, runComplete(ctx, args[1:], std), std.err)
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return exitCode(ctx, c.run(ctx, args[len(words):], std), std.err)
		}
	}
	if list := group(args[0]); len(list) > 0 && len(args) > 1 && (args[1] == "--help" || args[1] == "-h") {
		printUsages(std.out, list)
		return exitDone
	}
	return exitCode(ctx, usagef("%s", unknownCommand(args)), std.err)
}

// unknownCommand returns the error for an unknown command, with the nearest known one.
func unknownCommand(args []string) string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	if list := group(args[0]); len(list) > 0 && (len(args) == 1 || strings.HasPrefix(args[1], "-")) {
		var seconds []string
		for _, c := range list {
			seconds = append(seconds, strings.TrimPrefix(c.name, args[0]+" "))
		}
		return fmt.Sprintf("%s: expected %s (see mcpbridge %s --help)", args[0], strings.Join(seconds, " or "), args[0])
	}
	word, advice := args[0], "mcpbridge --help lists the commands"
	if len(args) > 1 && word == "secret" && args[1] == "get" {
		return "secret get: a secret is not shown again: a config has its value by ${keychain:NAME}, and mcpbridge secret list shows where it is used"
	}
	near := toolformat.Closest(word, names)
	if len(args) > 1 && near == "" { // two words, as in tools list
		if near = toolformat.Closest(word+" "+args[1], names); near != "" || len(group(word)) > 0 {
			if len(group(word)) > 0 {
				advice = "mcpbridge " + word + " --help lists its commands"
			}
			word += " " + args[1]
		}
	}
	for _, name := range names { // list, which tools list is meant by
		if _, second, _ := strings.Cut(name, " "); second == args[0] {
			near = name
			break
		}
	}
	if near != "" {
		advice = "did you mean " + near + "?"
	}
	return fmt.Sprintf("unknown command %s (%s)", hint.Quote(word), advice)
}

// An exitError sets the exit code. Its text is empty if the reason was printed.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// exitCode prints an error and returns its exit code.
func exitCode(ctx context.Context, err error, w io.Writer) int {
	var exit *exitError
	var call *toolformat.Error
	code, text := exitFailed, ""
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return exitDone
	case errors.As(err, &exit):
		code, text = exit.code, exit.text
	case ctx.Err() != nil:
		code = exitInterrupted
	case errors.As(err, &call):
		code, text = callExit(call), call.Error()
	case output.Enough(err):
	default:
		text = err.Error()
	}
	printError(w, text)
	return code
}

// printError prints an error, of which each line is one of its own.
func printError(w io.Writer, text string) {
	for line := range strings.Lines(terminal.Clean(text)) {
		output.Item(w, "", "mcpbridge: "+strings.TrimRight(line, "\n"))
	}
}

// callExit returns the exit code of a call without a result.
func callExit(e *toolformat.Error) int {
	switch e.Code {
	case toolformat.NotFound, toolformat.Unsupported, toolformat.Invalid:
		return exitUsage
	case toolformat.Denied, toolformat.Unavailable, toolformat.Timeout:
		return exitAway
	case toolformat.Canceled:
		return exitInterrupted
	case toolformat.Internal:
	}
	return exitFailed
}

// build returns the module's version and the commit that was built, as the go command recorded them.
func build() (version, commit string) {
	version, commit, modified := "dev", "unknown", ""
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " (modified)"
		}
	}
	return version, commit + modified
}

// spoken returns the sentence of the help on MCP revisions.
func spoken() string {
	return "Clients and servers may each speak any MCP revision, " + wire.Revisions[len(wire.Revisions)-1] + " to " + wire.ModernRevision + "."
}

func runVersion(_ context.Context, args []string, std streams) error {
	f := newFlags("version", "version [--json]", "Prints the version, the commit, the Go version and the MCP revisions.", std)
	asJSON := f.Bool("json", false, "print one JSON object")
	if err := f.parseOwn(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("version: unexpected argument %s", hint.Quote(f.Arg(0)))
	}
	version, commit := build()
	if *asJSON {
		return printJSON(std.out, &struct {
			Version   string   `json:"version"`
			Commit    string   `json:"commit"`
			Go        string   `json:"go"`
			System    string   `json:"system"`
			Revisions []string `json:"mcp_revisions"`
		}{version, commit, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, append([]string{wire.ModernRevision}, wire.Revisions...)})
	}
	fmt.Fprintf(std.out, "mcpbridge %s\ncommit %s\n%s %s/%s\nMCP %s %s\n", version, commit,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ModernRevision, strings.Join(wire.Revisions, " "))
	return nil
}
