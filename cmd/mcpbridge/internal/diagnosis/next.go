package diagnosis

import (
	"slices"
	"strings"
)

// A Failure is why a server is down.
type Failure struct {
	Command Command
	URL     string
	Sandbox bool   // the process is in a sandbox
	Reason  string // of the failure
	Output  string // what the process printed last
}

// A step says what to do if any of its words is in what is known of a failure.
type step struct {
	words []string // lower case
	next  string
}

// printed is in the output of a process that writes something else than messages.
const printed = "printed instead of a message"

// WithoutToken is in the reason of a server that takes the tokens of callers, and got none.
const WithoutToken = "and this one has come without"

const (
	noFile       = `correct the path in "args": relative ones begin in the folder that the server starts in ("cwd")`
	ownAuthority = `if the certificate is from an authority of your own, name its file as "tls": {"ca": …} in the config`
	noServer     = `that is no MCP server on stdio, or it needs other "args" to be one`
)

// ofReasons has what to do about the reasons that the bridge gives, ofOutputs about what servers print, and
// ofSandboxes about both where the server is in a sandbox. The first step that fits counts.
var (
	ofReasons = []step{
		{[]string{"working directory"}, `correct "cwd" in its config`},
		{[]string{"sandbox: read: ", "sandbox: write: "}, `correct that path in "sandbox" of its config`},
		{[]string{"sandbox: "}, `do what that says, or remove "sandbox" from its config, without which the server has all rights of your user`},
		{[]string{"is a directory"}, "name the program in that folder as the command"},
		{[]string{"is not executable"}, "chmod +x the file, or name its interpreter as the command"},
		{[]string{"interpreter named in its first line"}, "install the interpreter that the script's first line names"},
		{[]string{WithoutToken}, "call it as a client that has an access token"},
		{[]string{`"credentials": "identity" needs oauth`}, `remove "credentials", or write https:// in its URL and remove its Authorization header and "oauth": false`},
		{[]string{"x509"}, ownAuthority},
		{[]string{"metadata of its authorization server", "has no metadata: expected it at", "gives no token", "token cannot be renewed"}, `see that its authorization server runs and can be reached from here; if it refuses, correct "oauth" in the config`},
		{[]string{"client id in the config", "needs a clientid"}, `correct "oauth" in its config`},
		{[]string{"which it has been asked for"}, "have these scopes granted at its authorization server"},
		{[]string{"it refuses the token that", "it refuses the tokens that"}, `ask whoever runs that server what its tokens need, such as a scope or an audience ("scopes" and "audience" of "oauth" in its config)`},
		{[]string{"http 401", "http 403"}, `the server wants credentials: put them in "headers", as in "Authorization": "Bearer ${TOKEN}"`},
		{[]string{"<!doctype html", "http 404", "http 405"}, "correct the path of the URL: many servers have /mcp, older ones /sse"},
		{[]string{"connection refused"}, "start that server, or correct the host and port of its URL"},
		{[]string{"no such host", "server misbehaving"}, "correct the host name of the URL, or connect to its network"},
		{[]string{"does not look like a tls handshake", "http response to https client"}, "write http:// instead of https:// in its URL"},
		{[]string{"i/o timeout", "no route to host", "network is unreachable"}, "check the network, and whether a proxy or a firewall is in the way"},
		{[]string{"certificate"}, ownAuthority},
		{[]string{"no answer within"}, `if it is still installing, give it more time: --connect-timeout 5m, or "connectTimeout": "5m" in its config; else correct its "args": an MCP server answers at once`},
		{[]string{"exit status 127"}, `a program that it starts is not installed or not in its PATH: install it, or give the server "env": {"PATH": …}`},
		{[]string{"refused initialize"}, "that is no MCP server, or it needs other \"args\" to be one"},
	}
	ofOutputs = []step{
		{[]string{"e404", "is not in this registry", "not found - get http"}, "no package has that name: correct it in \"args\""},
		{[]string{"cannot find module '/", `cannot find module 'c:`, "can't open file", "cannot access directory"}, noFile},
		{[]string{"cannot find module", "err_module_not_found", "modulenotfounderror", "no module named", "importerror"}, "a package that the server needs is not installed: install it where the server runs"},
		{[]string{"eai_again", " enotfound", "'enotfound", "etimedout", "failed to fetch", "dns error"}, "the package could not be downloaded: check the network, and the proxy variables in \"env\""},
		{[]string{"cannot connect to the docker daemon", "docker daemon running"}, "start Docker"},
		{[]string{"unable to find image", "pull access denied", "manifest unknown"}, "correct the name of the image in \"args\", or log in to its registry"},
		{[]string{"unsupported engine", "ebadengine", "err_unknown_builtin_module", "no such built-in module", "does not provide an export", "syntaxerror: unexpected"}, "the server needs a newer Node.js: https://nodejs.org"},
		{[]string{"requires a different python", "requires-python", "syntaxerror: invalid syntax"}, "the server needs a newer Python: https://www.python.org"},
		{[]string{"address already in use", "eaddrinuse"}, "another program, perhaps a copy of the server, has its port: end that one"},
		{[]string{"api key", "api_key", "apikey", "access token", "_token", "credentials", "environment variable"}, `set the variable that it asks for in "env" of its config, or in an "envFile"`},
		{[]string{"no such file or directory", "enoent"}, noFile},
		{[]string{"eacces", "permission denied"}, "give your user the right to read and run what it names"},
		{[]string{printed}, noServer},
	}
	ofSandboxes = []step{
		{[]string{"eacces", "permission denied", "eperm", "operation not permitted", "eai_again", "name resolution"}, `its "sandbox" may refuse that: name the files that it needs in "read" or "write", and write "network": true if it connects to others`},
		{[]string{"killed by signal sigabrt", "killed by signal sigsegv", "killed by signal sigtrap", "killed by signal sigkill", "memoryerror", "out of memory", "allocation failed", "cannot allocate memory"}, `it may need more "memory" in its "sandbox"`},
	}
)

// programs tells where a program that is not installed comes from.
var programs = map[string]string{
	"npx": "install Node.js, which has npx: https://nodejs.org", "npm": "install Node.js: https://nodejs.org", "node": "install Node.js: https://nodejs.org",
	"uvx": "install uv, which has uvx: https://docs.astral.sh/uv", "uv": "install uv: https://docs.astral.sh/uv",
	"bunx": "install Bun: https://bun.sh", "bun": "install Bun: https://bun.sh", "deno": "install Deno: https://deno.com",
	"docker": "install Docker: https://docs.docker.com/get-docker", "podman": "install Podman: https://podman.io",
	"python": "install Python, or write python3", "python3": "install Python: https://www.python.org", "pipx": "install pipx: https://pipx.pypa.io",
}

// Next says what to do about a failure, in plain words; "" if its reason does.
func (f *Failure) Next() string {
	program := f.Command.program()
	first, _, several := strings.Cut(f.Command.Path, " ")
	missing := strings.HasPrefix(f.Reason, "command ") && (strings.Contains(f.Reason, "not found in PATH") || strings.Contains(f.Reason, "does not exist"))
	switch {
	case missing && several && !strings.ContainsAny(first, `/\`):
		return `write only ` + first + ` as "command", and the rest into "args", a string for each word`
	case missing:
		if next := programs[program]; next != "" {
			return next
		}
		return `install it, or write its full path as "command"`
	case (program == "docker" || program == "podman") && slices.Contains(f.Command.Args, "run") && !keepsInput(f.Command.Args):
		return program + ` run needs -i in "args": without it the server has no standard input`
	case strings.Contains(f.Reason, "the stored credentials cannot be read"): // which goes on with what to do
		return ""
	case strings.Contains(f.Reason, "no answer within") && strings.Contains(f.Output, printed):
		return noServer
	}
	if next := find(ofReasons, f.Reason); next != "" {
		return next
	}
	if next := find(ofSandboxes, f.Reason+" "+f.Output); f.Sandbox && next != "" {
		return next
	}
	if next := find(ofOutputs, f.Output); next != "" {
		return next
	}
	switch {
	case f.Command.Path == "":
		return "look at the log of that server"
	case f.Sandbox:
		return `run its command in a shell to see more: if it works there, its "sandbox" lacks something that it needs`
	case strings.Contains(f.Reason, "closed its output"):
		return `run its command in a shell: an MCP server on stdio prints nothing and waits; if this one ends, correct its "args"`
	}
	return "run its command in a shell to see more"
}

// keepsInput reports whether the arguments of docker run keep standard input open.
func keepsInput(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		short := len(a) > 1 && a[0] == '-' && a[1] != '-'
		return short && strings.Contains(a, "i") || a == "--interactive" || a == "--interactive=true"
	})
}

func find(steps []step, text string) string {
	text = strings.ToLower(text)
	for _, s := range steps {
		if slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(text, word) }) {
			return s.next
		}
	}
	return ""
}
