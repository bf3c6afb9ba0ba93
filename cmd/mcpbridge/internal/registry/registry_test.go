package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func entryOf(t *testing.T, text string, o Options) (*Entry, error) {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if o.Name = "srv"; o.Has == nil {
		o.Has = func(string) bool { return true }
	}
	return s.Entry(o)
}

func TestEntry(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		o          Options
	}{
		"npm": {text: `{"packages": [{"registryType": "npm", "identifier": "@a/b", "version": "1.2", "transport": {"type": "stdio"},
			"runtimeArguments": [{"type": "named", "name": "--quiet"}, {"type": "named", "name": "--cache", "description": "a folder"}],
			"packageArguments": [{"type": "positional", "valueHint": "dir", "isRequired": true, "default": "/d"}, {"type": "positional", "valueHint": "other"},
				{"type": "named", "name": "--region", "value": "{r}-1", "variables": {"r": {"default": "eu"}}}, {"type": "named", "name": "-p", "default": "1"}],
			"environmentVariables": [{"name": "API_KEY", "isRequired": true, "isSecret": true, "description": "from the site"}, {"name": "LEVEL"}, {"name": "MODE", "default": "x"}]}]}`,
			want: `{"Command":"npx","Args":["-y","--quiet","@a/b@1.2","/d","--region=eu-1","-p","1"],"Env":[{"Name":"API_KEY","Value":"${API_KEY}"},{"Name":"MODE","Value":"x"}],"Missing":["API_KEY: from the site"]}`},
		"given": {text: `{"server": {"packages": [{"registryType": "npm", "registryBaseUrl": "https://npm.example.com", "identifier": "b", "transport": {"type": "stdio"},
			"packageArguments": [{"type": "positional", "valueHint": "dir"}, {"type": "named", "name": "--key", "value": "{k}", "variables": {"k": {"isSecret": true}}}],
			"environmentVariables": [{"name": "key", "isSecret": true}]}]}}`,
			o:    Options{Env: map[string]string{"key": "k1", "OTHER": "o"}, Values: map[string]string{"dir": "/x", "k": "k2"}},
			want: `{"Command":"npx","Args":["-y","--registry=https://npm.example.com","b","/x","--key=${SRV_K}"],"Env":[{"Name":"key","Value":"${SRV_KEY}"},{"Name":"OTHER","Value":"o"}],"Secrets":[{"Name":"SRV_K","Value":"k2"},{"Name":"SRV_KEY","Value":"k1"}]}`},
		"pypi": {text: `{"packages": [{"registryType": "pypi", "identifier": "p", "version": "1", "runtimeHint": "uvx"}]}`,
			want: `{"Command":"uvx","Args":["p@1"]}`},
		"another index of Python": {text: `{"packages": [{"registryType": "pypi", "registryBaseUrl": "https://pypi.example.com/simple", "identifier": "p", "version": "1", "runtimeHint": "pipx"}]}`,
			want: `{"Command":"pipx","Args":["run","--index-url=https://pypi.example.com/simple","p==1"]}`},
		"docker": {text: `{"packages": [{"registryType": "oci", "identifier": "ghcr.io/a/b:1.0", "runtimeHint": "docker", "runtimeArguments": [{"type": "named", "name": "--network", "value": "none"}],
			"environmentVariables": [{"name": "A_B", "default": "c"}]}]}`,
			want: `{"Command":"docker","Args":["run","-i","--rm","-e","A_B","--network=none","ghcr.io/a/b:1.0"],"Env":[{"Name":"A_B","Value":"c"}]}`},
		"docker with its command": {text: `{"packages": [{"registryType": "oci", "identifier": "a/b:1", "runtimeArguments": [{"type": "positional", "value": "run"}, {"type": "named", "name": "-i"}, {"type": "named", "name": "--rm"}],
			"environmentVariables": [{"name": "A_B", "default": "c"}]}]}`,
			want: `{"Command":"docker","Args":["run","-e","A_B","-i","--rm","a/b:1"],"Env":[{"Name":"A_B","Value":"c"}]}`},
		"docker with its command alone": {text: `{"packages": [{"registryType": "oci", "identifier": "a/b:1", "runtimeArguments": [{"type": "positional", "value": "run"}, {"type": "named", "name": "-i", "description": "interactive"}]}]}`,
			want: `{"Command":"docker","Args":["run","-i","a/b:1"]}`},
		"another registry of containers": {text: `{"packages": [{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "a/b", "version": "1"}]}`,
			want: `{"Command":"docker","Args":["run","-i","--rm","ghcr.io/a/b:1"]}`},
		"an identifier with its registry": {text: `{"packages": [{"registryType": "oci", "registryBaseUrl": "https://ghcr.io", "identifier": "ghcr.io/a/b@sha256:0"}]}`,
			want: `{"Command":"docker","Args":["run","-i","--rm","ghcr.io/a/b@sha256:0"]}`},
		"the usual registry of containers": {text: `{"packages": [{"registryType": "oci", "registryBaseUrl": "https://registry-1.docker.io", "identifier": "a", "version": "1"}]}`,
			want: `{"Command":"docker","Args":["run","-i","--rm","a:1"]}`},
		"nuget": {text: `{"packages": [{"registryType": "nuget", "identifier": "P", "version": "1", "packageArguments": [{"type": "positional", "value": "mcp"}]}]}`,
			want: `{"Command":"dnx","Args":["P@1","--yes","--","mcp"]}`},
		"another feed of NuGet": {text: `{"packages": [{"registryType": "nuget", "registryBaseUrl": "https://nuget.example.com/v3/index.json", "identifier": "P", "version": "1"}]}`,
			want: `{"Command":"dnx","Args":["--source=https://nuget.example.com/v3/index.json","P@1","--yes"]}`},
		"the usual feed of NuGet": {text: `{"packages": [{"registryType": "nuget", "registryBaseUrl": "https://api.nuget.org/v3/index.json", "identifier": "P"}]}`,
			want: `{"Command":"dnx","Args":["P","--yes"]}`},
		"the second is installed": {text: `{"packages": [{"registryType": "npm", "identifier": "a"}, {"registryType": "pypi", "identifier": "b"}]}`,
			o: Options{Has: func(p string) bool { return p == "uvx" }}, want: `{"Command":"uvx","Args":["b"]}`},
		"nothing is installed": {text: `{"packages": [{"registryType": "mcpb", "identifier": "https://x/y.mcpb"}, {"registryType": "npm", "identifier": "a"}]}`,
			o: Options{Has: func(string) bool { return false }}, want: `{"Command":"npx","Args":["-y","a"],"Notes":["npx is not installed"]}`},
		"a program of its own choice": {text: `{"packages": [{"registryType": "npm", "identifier": "a", "runtimeHint": "bash"}]}`,
			want: `{"Command":"npx","Args":["-y","a"]}`},
		"a remote that names a variable of the environment": {text: `{"remotes": [{"type": "streamable-http", "url": "https://example.com/{AWS_SECRET_ACCESS_KEY}", "variables": {"AWS_SECRET_ACCESS_KEY": {"isRequired": true}},
			"headers": [{"name": "GITHUB_TOKEN", "isRequired": true}]}]}`,
			want: `{"URL":"https://example.com/${SRV_AWS_SECRET_ACCESS_KEY}","Type":"http","Headers":[{"Name":"GITHUB_TOKEN","Value":"${SRV_GITHUB_TOKEN}"}],"Missing":["SRV_AWS_SECRET_ACCESS_KEY","SRV_GITHUB_TOKEN"]}`},
		"remote": {text: `{"packages": [{"registryType": "npm", "identifier": "a"}], "remotes": [{"type": "sse", "url": "https://{tenant}.example.com/sse", "variables": {"tenant": {"isRequired": true}},
			"headers": [{"name": "Authorization", "value": "Bearer {token}", "isSecret": true, "variables": {"token": {"isSecret": true, "isRequired": true}}}, {"name": "X-Unknown", "value": "{stays}"}]}]}`,
			o:    Options{Has: func(string) bool { return false }, Values: map[string]string{"tenant": "me"}},
			want: `{"URL":"https://me.example.com/sse","Type":"sse","Headers":[{"Name":"Authorization","Value":"Bearer ${SRV_TOKEN}"},{"Name":"X-Unknown","Value":"{stays}"}],"Missing":["SRV_TOKEN"]}`},
		"a header in another letter case": {text: `{"remotes": [{"type": "streamable-http", "url": "https://example.com", "headers": [{"name": "X-Team", "isRequired": true}]}]}`,
			o:    Options{Headers: map[string]string{"x-team": "a", "Other": "b"}},
			want: `{"URL":"https://example.com","Type":"http","Headers":[{"Name":"X-Team","Value":"a"},{"Name":"Other","Value":"b"}]}`},
		"a secret with a variable": {text: `{"remotes": [{"type": "streamable-http", "url": "https://example.com", "headers": [{"name": "Authorization", "value": "Bearer {token}", "isSecret": true, "variables": {"token": {"isRequired": true}}}]}]}`,
			o:    Options{Values: map[string]string{"token": "t1"}},
			want: `{"URL":"https://example.com","Type":"http","Headers":[{"Name":"Authorization","Value":"Bearer ${SRV_TOKEN}"}],"Secrets":[{"Name":"SRV_TOKEN","Value":"t1"}]}`},
	} {
		e, err := entryOf(t, c.text, c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := compact(t, e); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// compact is an entry as JSON, without what is empty.
func compact(t *testing.T, e *Entry) string {
	t.Helper()
	var out strings.Builder
	add := func(name string, value any, is bool) {
		if is {
			b, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(`,"` + name + `":` + string(b))
		}
	}
	add("Command", e.Command, e.Command != "")
	add("Args", e.Args, len(e.Args) > 0)
	add("Env", e.Env, len(e.Env) > 0)
	add("URL", e.URL, e.URL != "")
	add("Type", e.Type, e.Type != "")
	add("Headers", e.Headers, len(e.Headers) > 0)
	add("Secrets", e.Secrets, len(e.Secrets) > 0)
	add("Missing", e.Missing, len(e.Missing) > 0)
	add("Notes", e.Notes, len(e.Notes) > 0)
	return "{" + strings.TrimPrefix(out.String(), ",") + "}"
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "not JSON",
		"{\n\"packages\": x}":            "line 2: not JSON",
		`{"packages": 3}`:                "packages: unexpected number",
		`{"name": "x"}`:                  `expected "packages" or "remotes"`,
		`{"packages": [{}]}`:             `a package of "": expected npm`,
		`{"remotes": [{"type": "tcp"}]}`: `remotes[0]: type "tcp"`,
		`{"packages": [{"registryType": "mcpb", "identifier": "https://a/b.mcpb", "fileSha256": "0f"}]}`:                                  `the bundle "https://a/b.mcpb": download it, check that its SHA-256 is "0f", unpack it`,
		`{"packages": [{"registryType": "npm", "identifier": "--eval"}]}`:                                                                 "without an identifier",
		`{"packages": [{"registryType": "npm", "identifier": "a", "transport": {"type": "sse"}}]}`:                                        "the package a serves sse, not stdio",
		`{"packages": [{"registryType": "npm", "identifier": "${HOME}"}]}`:                                                                "refers to a variable of the environment",
		`{"packages": [{"registryType": "npm", "registryBaseUrl": "https://evil/${AWS_SECRET}", "identifier": "a"}]}`:                     "refers to a variable of the environment",
		`{"packages": [{"registryType": "oci", "identifier": "a", "environmentVariables": [{"name": "${AWS_SECRET}", "default": "b"}]}]}`: "refers to a variable of the environment",
		`{"remotes": [{"type": "sse", "url": "https://evil/?k=${AWS_SECRET}"}]}`:                                                          "refers to a variable of the environment",
		`{"remotes": [{"type": "sse", "url": "https://evil/", "headers": [{"name": "A", "value": "$AWS_SECRET"}]}]}`:                      "refers to a variable of the environment",
		`{"packages": [{"registryType": "npm", "identifier": "a", "packageArguments": [{"type": "positional", "value": "{env:AWS}"}]}]}`:  "refers to a variable of the environment",
		`{"packages": [{"registryType": "npm", "identifier": "a", "packageArguments": [{"type": "named", "name": "x", "value": "1"}]}]}`:  `argument "x"`,
	} {
		s, err := Parse([]byte(text))
		if err == nil {
			_, err = s.Entry(Options{Name: "srv", Has: func(string) bool { return true }})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Whatever a file says, only known programs are run, and no variable is referred to that it does not name.
func FuzzEntry(f *testing.F) {
	f.Add(`{"packages": [{"registryType": "oci", "identifier": "a", "environmentVariables": [{"name": "A", "value": "{b}", "variables": {"b": {"default": "c"}}}]}]}`)
	f.Add(`{"remotes": [{"type": "sse", "url": "https://{a}/$B{env:C}"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		e, err := s.Entry(Options{Name: "srv", Has: func(string) bool { return true }})
		if err != nil {
			return
		}
		if known := []string{"", "npx", "bunx", "uvx", "pipx", "docker", "podman", "dnx"}; !slices.Contains(known, e.Command) {
			t.Errorf("runs %q", e.Command)
		}
		for _, text := range append(slices.Clone(e.Args), e.URL) {
			for _, about := range e.Missing {
				name, _, _ := strings.Cut(about, ":")
				text = strings.ReplaceAll(text, "${"+name+"}", "")
			}
			if expands().MatchString(text) {
				t.Errorf("refers to a variable: %q", text)
			}
		}
	})
}
