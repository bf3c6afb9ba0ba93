package local

import (
	"path/filepath"
	"slices"
	"strings"
)

// An interpreter is a program that executes some of its arguments: as program text, or as the name
// of a program, script or module. Lists are separated by spaces.
type interpreter struct {
	names    string   // of the program, without a version
	sub      string   // subcommands: the entry is for what comes after one of them
	runs     string   // options whose value is executed; --name stands for its abbreviations too
	loads    string   // those of runs that do not take the place of an operand that is executed
	values   string   // other options with a value
	sticks   string   // letters of options whose value is the rest of their element, if that has one
	operands operands // elements that are not options and are executed
	permutes bool     // options may come after operands, too
	opens    string   // letters of options that make the operands files, and a file "id|" a command
	words    bool     // options of one dash may have several letters: -exec
	pipes    bool     // an operand that is a file to be read, and begins with |, is a command
	plus     bool     // an element that begins with + is a command, unless it comes after --
	input    int      // it executes standard input if it has fewer operands and no text from an option; 0 means never
	wraps    bool     // it runs another program
	skips    int      // operands before that program
}

// operands says which operands are executed.
type operands uint8

const (
	noOperand   operands = iota
	firstText            // the first, unless an option has the program text
	firstAlways          // the first, whatever the options are
	afterFirst           // all but the first
	allOperands
)

// interpreters lists the programs in common use; for others the author of the definition is
// responsible. A subcommand that differs is an entry of its own: "git config".
var interpreters = []interpreter{
	// Shells, and what hands its arguments to one.
	{names: "sh bash dash ash ksh mksh zsh fish csh tcsh rbash yash osh nu elvish xonsh", runs: "--rcfile --init-file --init-command -C", values: "-o +o -O +O", operands: firstAlways, input: 1},
	{names: "cmd powershell pwsh at batch dc wsl", operands: allOperands, input: 1},
	{names: "ssh mosh rsh", runs: "-o -F -I -S", values: "-p -l -i -L -R -D -J -b -c -E -m -W -w -B", operands: allOperands, input: 2},
	{names: "ed red", operands: allOperands, input: anyOperands},
	{names: "adb watch parallel tmux screen socat hyperfine", operands: allOperands},
	{names: "su runuser script", runs: "-c --command --session-command", values: "-s --shell -g --group -G"},

	// Languages. The first operand is a script, unless an option has the text.
	{names: "python pythonw py pypy ipython", runs: "-c -m", values: "-W -X -Q --check-hash-based-pycs", operands: firstText, input: 1},
	{names: "timeit", runs: "-s --setup", values: "-n -r -u --number --repeat --unit", operands: allOperands}, // python -m timeit
	{names: "pdb cprofile profile runpy", runs: "-c -m", loads: "-c", values: "-o -s", operands: firstText},
	{names: "perl", runs: "-e -E -M -m -x -F", loads: "-M -m -x -F", values: "-I", sticks: "CDi", opens: "npaF", operands: firstText, input: 1},
	{names: "ruby jruby", runs: "-e -r", loads: "-r", values: "-I -C -E -K -F", operands: firstText, input: 1},
	{names: "node nodejs tsx ts-node coffee qjs", runs: "-e -p -pe -r --eval --print --require --import --loader --experimental-loader --env-file --env-file-if-exists",
		loads: "-r --require --import --loader --experimental-loader --env-file --env-file-if-exists", values: nodeValues, operands: firstText, words: true, input: 1},
	{names: "bun", runs: bunRuns, loads: bunLoads, values: bunValues, operands: firstText, words: true, input: 1},
	{names: "bun", sub: "run", runs: bunRuns, loads: bunLoads, values: bunValues, operands: firstAlways, words: true},
	{names: "deno", runs: denoRuns, loads: denoRuns, values: denoValues, operands: firstAlways, words: true, input: 1},
	{names: "deno", sub: "run task serve test bench compile bundle install x", runs: denoRuns, loads: denoRuns, values: denoValues, operands: firstAlways, words: true},
	{names: "deno", sub: "eval repl", operands: allOperands},
	{names: "npm pnpm yarn", sub: "run run-script task", values: npmValues, operands: firstAlways},
	{names: "lua luajit texlua", runs: "-e -l", loads: "-l", operands: firstText, input: 1},
	{names: "php", runs: "-r -B -R -E -f -F -z -a -d --define --run --process-begin --process-code --process-end --file --process-file", loads: "-d -z -a --define", values: "-c -t -S", operands: firstText, input: 1},
	{names: "rscript r", runs: "-e -f --file", operands: firstText, words: true, input: 1},
	{names: "julia", runs: "-e -E -L -m --eval --print --load", loads: "-L --load", values: "-p -t -J", operands: firstText, input: 1},
	{names: "tclsh wish expect", runs: "-c -f -b", values: "-encoding", operands: firstText, words: true, input: 1},
	{names: "osascript", runs: "-e", values: "-l -s", operands: firstText, input: 1},
	{names: "java", runs: "-jar -m --module -cp -classpath --class-path -p --module-path", loads: "-cp -classpath --class-path -p --module-path", values: "--add-modules --add-opens --add-exports --add-reads", operands: firstText, words: true, input: 1},
	{names: "groovy scala kotlin elixir erl ghc ghci swift escript racket guile sbcl clisp clojure emacs emacsclient iex irb ocaml runghc runhaskell jshell jrunscript", runs: "-e -E -l -f -x -eval --eval --load --expr --execute --funcall --command --script", operands: firstText, words: true, input: 1},
	{names: "gnuplot octave maxima gp", runs: "-e -c -p --eval --batch-string --persist --init-mathdata", operands: firstText, input: 1},
	{names: "cscript wscript mshta rundll", operands: allOperands},

	// Programs for text, whose program text can run others.
	{names: "awk gawk mawk nawk original-awk goawk", runs: "-f -e -i -l -E --file --source --include --load --exec", loads: "-i -l --include --load", values: "-v -F -W --assign --field-separator", operands: firstText},
	{names: "sed gsed", runs: "-e -f --expression --file", values: "-l --line-length", operands: firstText, permutes: true},
	{names: "m4 gm4", runs: "-D --define -R --reload-state", values: "-I -U -F -L -s --include --undefine"},
	{names: "vim vi nvim gvim view ex vimdiff rvim rview nano emacs-nox", runs: "-c -S -s -u -U --cmd --server", values: "-t -q -T -w -W -i", plus: true},
	{names: "less more most", runs: "-k -P --lesskey-file --lesskey-content", plus: true},
	{names: "man", runs: "-P -H -C --pager --html --config-file"},

	// Databases, whose clients have commands of their own.
	{names: "sqlite sqlite3 duckdb", runs: "-cmd -init -c -s -f", values: "-separator -nullvalue -newline -mmap -maxsize -vfs", operands: afterFirst, words: true, input: 2},
	{names: "psql pgcli usql", runs: "-c -f --command --file", values: "-d -h -p -U -v -F -R -T -P -L -o --dbname --host --port --username --set --variable --output", input: anyOperands},
	{names: "mysql mariadb mycli", runs: "-e --execute --init-command --init-command-add --pager", values: "-h -u -P -D -S --host --user --port --database --socket", input: anyOperands},
	{names: "sqlcmd isql sqlplus mongo mongosh", runs: "-Q -q -i -e --eval --file -f", input: anyOperands},

	// Builders and version control.
	{names: "make gmake bmake nmake ninja just task rake mix", runs: "-f -I -E --file --makefile --eval --include-dir --directory -C", values: "-j -l -o -W --jobs --old-file --what-if", operands: allOperands},
	{names: "mvn mvnw gradle gradlew ant", runs: "-f -b -c -I --file --build-file --init-script --settings-file", values: "-D -P -p -s -t -x -pl -rf -T", operands: allOperands, words: true},
	{names: "go cargo dotnet", runs: "--config", values: "-C -Z", operands: firstAlways},
	{names: "go", sub: "run generate", runs: "-exec -toolexec", values: "-tags -ldflags -gcflags -mod -C -o", operands: firstAlways, words: true},
	{names: "go", sub: "build install test vet", runs: "-exec -toolexec -vettool", words: true},
	{names: "dotnet", sub: "exec", operands: firstAlways},
	{names: "cmake", runs: "-P -C -E"},
	{names: "ctest", runs: "-S -SP --script", words: true},
	{names: "git", runs: "-c --config-env --exec-path", values: "-C --git-dir --work-tree --namespace", operands: firstAlways},
	{names: "git", sub: "config submodule bisect", operands: allOperands},
	{names: "git", sub: "filter-branch", runs: "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter"},
	{names: "git", sub: "rebase", runs: "-x --exec"},
	{names: "git", sub: "difftool", runs: "-x --extcmd"},
	{names: "git", sub: "grep", runs: "-O --open-files-in-pager"},
	{names: "git", sub: "clone", runs: "-c --config -u --upload-pack --template", values: "-b -o -j --branch --origin --depth"},
	{names: "git", sub: "fetch pull push ls-remote archive", runs: "--upload-pack --receive-pack --exec"},

	// Debuggers, and others with an option that names a program.
	{names: "gdb", runs: "-ex -iex -x -ix -eval-command -init-eval-command -command -init-command --eval-command --init-eval-command --command --init-command", words: true},
	{names: "lldb", runs: "-o -O -s -S -k -K --one-line --one-line-before-file --source --source-before-file --one-line-on-crash --source-on-crash"},
	{names: "tar gtar bsdtar", runs: "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script --rsh-command", values: "-f -C -T -X --file --directory --files-from --exclude"},
	{names: "rsync", runs: "-e --rsh --rsync-path"},
	{names: "scp sftp", runs: "-S -o -F -D"},
	{names: "wget", runs: "-e --execute --use-askpass --config"},
	{names: "nc ncat netcat", runs: "-e -c --exec --sh-exec --lua-exec"},
	{names: "sort", runs: "--compress-program"},
	{names: "sox play soxi", values: "-t -r -b -e -c -v -C --type --rate --bits --encoding --channels --volume --compression --add-comment --comment --comment-file --combine --effects-file --buffer --input-buffer --temp --plot", words: true, pipes: true},
	{names: "split", runs: "--filter"},
	{names: "zip", runs: "-TT --unzip-command", words: true},
	{names: "nmap", runs: "--script --script-args"},
	{names: "rg", runs: "--pre --hostname-bin", values: "-e -f -g -t -T -A -B -C -m"},
	{names: "fzf", runs: "--preview --bind", values: "-q -f -d -n"},
	{names: "bat batcat", runs: "--pager"},
	{names: "pandoc", runs: "-F -L --filter --lua-filter"},
	{names: "tcpdump", runs: "-z", values: "-i -w -r -c -C -G -s -F -W -Z"},
	{names: "hg svn", runs: "--config --config-option --editor-cmd --diff-cmd"},
	{names: "ansible", runs: "-a -e --args --extra-vars", values: "-i -m -u -l -f --inventory --module-name --user --limit"},
	{names: "ansible-playbook", runs: "-e --extra-vars", values: "-i -u -l -t --inventory --user --limit --tags", operands: firstAlways},
	{names: "gcloud vagrant fly flyctl helm nodemon yt-dlp", runs: "-c -x -C --command --post-renderer --exec"},

	// Programs that run another one, which their operands name.
	{names: "find gfind fd fdfind", runs: "-exec -execdir -ok -okdir -x -X --exec --exec-batch", words: true, wraps: true, skips: unknownSkips},
	{names: "env", runs: "-S --split-string", values: "-u -C -a -P --unset --chdir --argv0", wraps: true},
	{names: "sudo doas pkexec", runs: "-s -i", values: "-u -g -h -p -C -r -t -a -c -T -U -D -R --user --group --host --prompt --close-from --role --type --command-timeout --other-user --chdir --chroot --auth-type --login-class", wraps: true},
	{names: "nohup setsid busybox toybox valgrind firejail bwrap entr", wraps: true},
	{names: "nice", values: "-n --adjustment", wraps: true},
	{names: "ionice", values: "-c -n -p -P -u --class --classdata --pid --pgid --uid", wraps: true},
	{names: "chrt taskset", values: "-T -P -D --sched-runtime --sched-period --sched-deadline", wraps: true, skips: 1},
	{names: "setpriv", values: "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile --landlock-access --landlock-rule", wraps: true},
	{names: "unshare", values: "-R -w -S -G --root --wd --setuid --setgid --map-user --map-group --map-users --map-groups --propagation --monotonic --boottime", wraps: true},
	{names: "prlimit", values: "-p -o --pid --output", wraps: true},
	{names: "xvfb-run", values: "-e -f -n -p -s -w --error-file --auth-file --server-num --xauth-protocol --server-args --wait", wraps: true},
	{names: "dbus-run-session caffeinate", values: "-t -w --config-file --dbus-daemon", wraps: true},
	{names: "rlwrap", runs: "-z --filter", values: "-b -C -D -f -g -H -l -M -O -P -q -s -S -t -w", wraps: true},
	{names: "time stdbuf", values: "-f -o -i -e --format --output --input --error", wraps: true},
	{names: "strace", values: "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --trace-path --output --string-limit --user --env --trace --attach", wraps: true},
	{names: "ltrace", values: "-a -A -D -e -F -l -n -o -p -s -u -w -x --align --library --output --indent", wraps: true},
	{names: "timeout chroot gosu su-exec setuidgid envdir", values: "-s -k --signal --kill-after", wraps: true, skips: 1},
	{names: "flock", runs: "-c --command", values: "-w -E --timeout --wait --conflict-exit-code", wraps: true, skips: 1},
	{names: "xargs", values: "-a -d -E -I -J -L -R -S -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var", wraps: true},
	{names: "systemd-run", values: "-p -u -M -H -E --property --unit --machine --host --setenv --uid --gid --slice --description --working-directory --on-active --on-boot --on-startup --on-unit-active --on-unit-inactive --on-calendar --timer-property --path-property --socket-property --service-type --nice --job-mode", wraps: true},
	{names: "nsenter", values: "-t -S -G --target --setuid --setgid", wraps: true},

	// The same for packages and environments.
	{names: "uvx", runs: uvRuns, loads: uvRuns, values: uvValues, wraps: true},
	{names: "npx dnx", runs: "-c -p --call --package --script-shell --node-options", values: "-w -i -C " + npmValues, wraps: true},
	{names: "pnpx bunx", runs: "-c -p --call --package --script-shell --node-options", values: "-C " + npmValues, wraps: true},
	{names: "npm", runs: "--script-shell --node-options", values: "-C -w " + npmValues, operands: firstAlways},
	{names: "pnpm yarn", runs: "--script-shell --node-options", values: "-C -F " + npmValues, operands: firstAlways},
	{names: "uv", runs: "-p --python", values: uvValues, operands: firstAlways},
	{names: "pipx poetry pipenv pdm hatch conda mamba micromamba bundle rbenv pyenv asdf mise nix",
		values: "-C -F -w --prefix --filter --workspace --cwd --dir --directory --project --registry --userconfig", operands: firstAlways},
	{names: "npm", sub: "exec x", runs: "-c -p --call --package --script-shell --node-options", values: "-C -w " + npmValues, wraps: true},
	{names: "pnpm yarn bun", sub: "exec dlx x", runs: "-c -p --call --package --script-shell --node-options --allow-build", values: "-C -F " + npmValues, wraps: true},
	{names: "uv", sub: "run", runs: uvRuns, loads: uvRuns, values: uvValues, wraps: true},
	{names: "pipx poetry pipenv pdm hatch conda mamba micromamba nix", sub: "run", runs: "--spec --python --expr --file",
		values: "-n -p --name --prefix --cwd --index-url --default-index --package --project --directory --env-file --group --extra", wraps: true},
	{names: "bundle rbenv pyenv asdf mise", sub: "exec", values: "--gemfile", wraps: true},
	{names: "npm", sub: "install i add", values: "-w --prefix --workspace --registry --cache --tag --omit --include", operands: allOperands},
	{names: "pnpm yarn", sub: "install i add", values: "-C -F --filter --cwd --dir --registry --tag", operands: allOperands},
	{names: "npm", sub: "init innit create", values: "-w --workspace --scope --prefix --registry --cache", operands: firstAlways},
	{names: "pnpm yarn bun", sub: "create", operands: firstAlways},
	{names: "yarn", sub: "global", operands: firstAlways},
	{names: "pip", runs: "--python", values: "--proxy --timeout --retries --cert --client-cert --cache-dir --log --trusted-host", operands: firstAlways},
	{names: "uv", sub: "install add sync compile", runs: "-e -p -r --editable --python --requirement --requirements --with --with-editable --with-requirements",
		values: "-b -c -i -f -o -C -P --constraint --constraints --build-constraints --override --overrides --target --prefix --index-url --extra-index-url --default-index --index --find-links --output-file --group --only-group --no-group --extra --no-extra --project --directory --cache-dir --package --upgrade-package --reinstall-package", operands: allOperands},
	{names: "uv", sub: "venv lock remove tree export init build uninstall list show freeze check upgrade find pin", runs: "-p --python"},
	{names: "pip pipx poetry pipenv pdm", sub: "install add inject download wheel", runs: "-e -r --editable --python --requirement --requirements --with --spec",
		values: "-c -t -i -f -p -G --constraint --target --root --index-url --extra-index-url --default-index --index --find-links --group --extra --project --directory --cache-dir --dest --wheel-dir", operands: allOperands},
	{names: "pipx", sub: "upgrade upgrade-all reinstall reinstall-all", runs: "--python"},
	{names: "uv", sub: "pip python", operands: firstAlways},
	{names: "conda mamba micromamba", sub: "install create update upgrade", runs: "-f --file", values: "-n -p -c -r --name --prefix --channel --root-prefix --clone --revision --solver --subdir --platform", operands: allOperands},
	{names: "conda mamba micromamba", sub: "env", operands: firstAlways},
	{names: "gem", operands: firstAlways},
	{names: "gem", sub: "install", runs: "-g --file", values: "-i -n -v --install-dir --bindir --version --source", operands: allOperands},
	{names: "cargo", sub: "install", runs: "--git --path", values: "-j --branch --tag --rev --version --root --target --target-dir --features --profile --jobs --index --registry --bin", operands: allOperands},
	{names: "uv", sub: "tool", operands: firstAlways},
	{names: "nix", sub: "shell develop", runs: "-c --command --expr --file"},
	{names: "nix-shell", runs: "-p -E --run --command --expr --packages", values: "-A -I --arg --argstr --attr", operands: firstAlways},

	// The same for containers; an image is a program, too.
	{names: "docker podman nerdctl", values: "-H -c -l -n --host --context --config --log-level --namespace --connection --url --root --runroot --runtime --storage-driver --storage-opt --cgroup-manager --identity --ssh --tmpdir --volumepath --network-config-dir --hooks-dir --module --out --data-root --cni-path --cni-netconfpath --address --snapshotter", operands: firstAlways},
	{names: "kubectl oc", values: kubectlValues, operands: firstAlways},
	{names: "docker podman nerdctl", sub: "compose container", values: "-f -p --file --profile --project-name --project-directory --env-file --ansi --parallel --progress", operands: firstAlways},
	{names: "docker podman nerdctl", sub: "run create", runs: "--entrypoint --health-cmd", values: containerValues, operands: firstAlways, wraps: true, skips: 1},
	{names: "docker podman nerdctl", sub: "exec", values: "-e -u -w --env --env-file --user --workdir --detach-keys --index", wraps: true, skips: 1},
	{names: "kubectl oc", sub: "exec", values: "-c -f --container --filename --pod-running-timeout " + kubectlValues, wraps: true, skips: 1},
	{names: "kubectl oc", sub: "run debug", runs: "--image --overrides --set-image --custom",
		values: "-c -f -k -l -o --annotations --container --copy-to --env --field-manager --filename --grace-period --image-pull-policy --kustomize --labels --output --override-type --pod-running-timeout --port --restart --target --template --timeout " + kubectlValues, wraps: true, skips: 1},
}

// containerValues are the options of docker run that have a value.
const containerValues = "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-shares --cpus --cpuset-cpus " +
	"--device --dns --domainname --env --env-file --expose --gpus --group-add --hostname --ip --ipc --label --label-file --link --log-driver --log-opt --mac-address --memory --memory-swap " +
	"--mount --name --net --network --network-alias --pid --pids-limit --platform --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --sysctl " +
	"--tmpfs --ulimit --user --userns --uts --volume --volumes-from --workdir"

// kubectlValues are the options of all commands of kubectl that have a value.
const kubectlValues = "-n -s -v --v --as --as-group --as-uid --as-user-extra --cache-dir --certificate-authority --client-certificate --client-key --cluster --context --kubeconfig --log-file " +
	"--namespace --password --profile --profile-output --request-timeout --server --tls-server-name --token --user --username --vmodule"

// soxEffects are the names behind which sox has no more files.
const soxEffects = "allpass band bandpass bandreject bass bend biquad channels chorus compand contrast dcshift deemph delay dither divide dolbyb downsample earwax echo echos " +
	"equalizer fade fir firfit flanger gain highpass hilbert ladspa loudness lowpass mcompand noiseprof noisered norm oops overdrive pad phaser pitch rate remix repeat reverb " +
	"reverse riaa saturation silence sinc spectrogram speed splice stat stats stretch swap synth tempo treble tremolo trim upsample vad vol"

// The options of uv run and uvx that name what is executed, and those that have another value.
const (
	uvRuns = "-p -w --python --from --with --with-editable --with-requirements"
	// -c and -b are those of uvx.
	uvValues = "-C -P -f -i -c -b --allow-insecure-host --build-constraint --build-constraints --cache-dir --color --config-file --config-setting --config-settings --config-settings-package " +
		"--constraint --constraints --default-index --directory --env-file --exclude-newer --exclude-newer-package --extra --extra-index-url --find-links --fork-strategy " +
		"--group --index --index-strategy --index-url --keyring-provider --link-mode --no-binary-package --no-build-isolation-package --no-build-package --no-editable-package --no-extra --no-group " +
		"--no-sources-package --only-group --overrides --package --prerelease --prerelease-package --project --python-fetch --python-platform --python-preference --refresh-package --reinstall-package " +
		"--resolution --torch-backend --trusted-host --upgrade-group --upgrade-package"
)

// npmValues are the options of npm, pnpm, yarn and bun that have a value.
const npmValues = "--allow-scripts --audit-level --before --ca --cache --cafile --cert --config --config.cache-dir --cpu --cwd --dir --directory --env-file --fetch-retries " +
	"--fetch-retry-factor --fetch-retry-maxtimeout --fetch-retry-mintimeout --fetch-timeout --filter --filter-prod --global-bin-dir --globalconfig --http-proxy --https-proxy " +
	"--include --install-strategy --key --libc --local-address --location --lockfile-version --loglevel --logs-dir --max-old-space-size --maxsockets --min-release-age " +
	"--min-release-age-exclude --minimum-release-age --modules-dir --network-concurrency --node-version --noproxy --npmrc-auth-file --omit --os --otp --prefix --project " +
	"--proxy --registry --reporter --scope --state-dir --store-dir --tag --use-node-version --user-agent --userconfig --virtual-store-dir --workspace --workspace-concurrency"

// nodeValues are the options of node that have a value.
const nodeValues = "--allow-fs-read --allow-fs-write --conditions --cpu-prof-dir --cpu-prof-interval --cpu-prof-name --debug-port --diagnostic-dir --disable-proto --disable-warning " +
	"--dns-result-order --experimental-default-type --heap-prof-dir --heap-prof-interval --heap-prof-name --heapsnapshot-near-heap-limit --heapsnapshot-signal --icu-data-dir " +
	"--input-type --inspect-port --inspect-publish-uid --max-http-header-size --network-family-autoselection-attempt-timeout --openssl-config --redirect-warnings --report-dir " +
	"--report-directory --report-filename --report-signal --secure-heap --secure-heap-min --test-concurrency --test-name-pattern --test-reporter --test-reporter-destination " +
	"--test-shard --test-timeout --title --tls-cipher-list --tls-keylog --trace-event-categories --trace-event-file-pattern --tsconfig --unhandled-rejections --use-largepages " +
	"--v8-pool-size --watch-path -C"

// The options of bun and deno.
const (
	bunRuns   = "-e -p -r --eval --print --preload --require --import --config --env-file --shell"
	bunLoads  = "-r --preload --require --import --config --env-file --shell"
	bunValues = "-F -d -l --conditions --console-depth --cpu-prof-dir --cpu-prof-interval --cpu-prof-name --cron-period --cron-title --cwd --define --disable-warning --dns-result-order --drop --elide-lines " +
		"--extension-order --feature --fetch-preconnect --filter --heap-prof-dir --heap-prof-interval --heap-prof-name --install --jsx-factory --jsx-fragment --jsx-import-source --jsx-runtime --loader " +
		"--main-fields --max-http-header-size --port --redirect-warnings --title --tsconfig-override --unhandled-rejections --user-agent --watch-kill-signal"
	denoRuns   = "--preload --require --import-map"
	denoValues = "-c -L --cert --conditions --config --ext --inspect-publish-uid --location --lock --log-level --min-dep-age --node-modules-linker --seed"
)

// flags have no value, although their names begin the name of an option that has one.
const flags = "--all --audit --cpu-prof --detach --global --heap-prof --inspect --login --no-binary --no-build --no-build-isolation --no-editable --no-sources --refresh --reinstall --test --tls --upgrade --watch"

// anyOperands is more operands than a program has.
const anyOperands = 1 << 20

// unknownSkips stands for operands of unknown number before the program that is run.
const unknownSkips = 1 << 20

// findInterpreter returns the entry of a program, or of one of its subcommands; nil without any.
func findInterpreter(program, sub string) *interpreter {
	for i := range interpreters {
		p := &interpreters[i]
		if hasWord(p.names, program) && (p.sub == sub || sub != "" && hasWord(p.sub, sub)) {
			return p
		}
	}
	return nil
}

func hasWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// nameOf returns a program's name without folder and version: python for /usr/bin/python3.12.
func nameOf(program string) string {
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(program, `\`, "/")))
	for _, extension := range []string{".exe", ".cmd", ".bat"} { // of Windows
		name = strings.TrimSuffix(name, extension)
	}
	if findInterpreter(name, "") != nil { // sqlite3
		return name
	}
	return strings.TrimRight(name, "0123456789.-")
}

// isCode reports whether a command would execute its element at an index, which has a placeholder.
func isCode(command []string, at int) bool {
	name := nameOf(command[0])
	p := findInterpreter(name, "")
	if p == nil || at == 0 {
		return at == 0
	}
	w := walk{interpreter: p, name: name, args: command[1:], at: at - 1}
	return w.isExecuted()
}

// A walk goes through the arguments of an interpreter up to one of them.
type walk struct {
	*interpreter
	name     string // of the program
	args     []string
	at       int  // index in args
	operand  int  // operands so far
	hasText  bool // an option has the program text
	opened   bool // see interpreter.opens
	onlyData bool // after "--"
	unknown  bool // the option before is not listed, and may have a value
}

// isExecuted reports whether the argument is executed.
func (w *walk) isExecuted() bool {
	if w.executes() {
		return true
	}
	for i := 0; w.wraps && i < w.at; i++ { // options that are not known may come before the program
		if findInterpreter(nameOf(w.args[i]), "") != nil && isCode(w.args[i:], w.at-i) {
			return true
		}
	}
	return false
}

// executes reports whether the argument is executed as far as the options are known.
func (w *walk) executes() bool {
	for i := 0; i <= w.at; i++ {
		arg := w.args[i]
		switch {
		case strings.HasPrefix(arg, "+") && hasWord(w.values, arg): // +o of a shell
			i++
		case w.plus && !w.onlyData && (strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, "{")):
			if i == w.at {
				return true
			}
		case arg == "--" && !w.onlyData:
			w.onlyData = true
		case w.onlyData || len(arg) < 2 || arg[0] != '-':
			if w.unknown && i < w.at && w.precedesSub(i) {
				w.unknown = false
				continue
			}
			if executed, last := w.takeOperand(i); last || i == w.at {
				return executed
			}
		default:
			runs, next := w.option(arg)
			if i == w.at {
				return runs
			}
			w.unknown = !runs && !next && !strings.Contains(arg, "=")
			if next {
				if i++; i == w.at {
					return runs
				}
			}
			if command := w.module(arg, i); runs && command != nil && isCode(command, w.at-i) {
				return true
			}
		}
	}
	return false
}

// module returns the command that an option of python for a module makes of what follows, the element at i or
// the rest of the option; nil for any other option.
func (w *walk) module(option string, i int) []string {
	letters, name, ok := strings.Cut(option, "m")
	switch {
	case !ok || !hasWord(w.names, "python") || strings.ContainsAny(letters, "cWX"): // which have the rest
		return nil
	case name == "":
		return w.args[i:]
	}
	return append([]string{name}, w.args[i+1:]...)
}

// precedesSub reports whether an element is not a subcommand, but the next one that is not an option is, so
// that it is the value of the option before.
func (w *walk) precedesSub(i int) bool {
	isSub := func(element string) bool { p := findInterpreter(w.name, element); return p != nil && p.sub != "" }
	if w.sub != "" || w.wraps || isSub(w.args[i]) {
		return false
	}
	next := slices.IndexFunc(w.args[i+1:], func(element string) bool { return !strings.HasPrefix(element, "-") })
	return next >= 0 && i+1+next < w.at && isSub(w.args[i+1+next])
}

// takeOperand reports whether an operand is executed. last means that it decides about all that
// comes after it, too.
func (w *walk) takeOperand(i int) (executed, last bool) {
	n := w.operand
	w.operand++
	switch {
	case w.wraps && isSetting(w.args[i]):
		w.operand--
		return false, false
	case w.wraps && n == w.skips:
		return isCode(w.args[i:], w.at-i), true
	case w.pipes:
		return w.isPipe(i), hasWord(soxEffects, w.args[i])
	case w.operands == allOperands, w.opened:
		return true, false
	case w.operands == afterFirst:
		return n > 0, false
	case n > 0 || w.operands == noOperand:
		return false, false
	case i == w.at:
		return w.operands == firstAlways || !w.hasText, true
	}
	if sub := findInterpreter(w.name, w.args[i]); sub != nil {
		below := walk{interpreter: sub, name: w.name, args: w.args[i+1:], at: w.at - i - 1}
		return below.isExecuted(), true
	}
	return false, w.isLastWord()
}

// isSetting reports whether an operand is a variable for env, or the "-" that removes all others.
func isSetting(operand string) bool {
	return operand == "-" || strings.Contains(operand, "=") && !strings.HasPrefix(operand, "{")
}

// isPipe reports whether an operand of sox may be a command: a file that it reads, which all are but the last.
func (w *walk) isPipe(i int) bool {
	isOutput := w.name == "sox" && (i+1 == len(w.args) || hasWord(soxEffects, w.args[i+1]))
	return strings.HasPrefix(w.args[i], "{") && !isOutput
}

// isLastWord reports whether the program's options end at its first operand. What follows belongs to
// its script or its subcommand.
func (w *walk) isLastWord() bool {
	return !w.permutes && !w.opened && !w.wraps && (w.operands == firstAlways || w.operands == firstText && !w.hasText)
}

// option reports whether the value of an option is executed, and whether it is the next element. It notes
// the program text. Of an option whose name has a placeholder anything may become.
func (w *walk) option(arg string) (runs, next bool) {
	if w.runs == "" && w.values == "" {
		return w.operands == allOperands, false
	}
	if w.words || strings.HasPrefix(arg, "--") {
		name, _, attached := strings.Cut(arg, "=")
		if strings.Contains(name, "{") {
			return w.runs != "", false
		}
		runs = w.isListed(w.runs, name)
		w.hasText = w.hasText || runs && !w.isListed(w.loads, name)
		return runs, (runs || w.isListed(w.values, name)) && !attached
	}
	for i, letter := range arg[1:] {
		option, rest := "-"+string(letter), arg[2+i:]
		w.opened = w.opened || strings.ContainsRune(w.opens, letter)
		switch {
		case letter == '{':
			return w.runs != "", false
		case strings.ContainsRune(w.sticks, letter):
			return strings.Contains(rest, "{"), false
		case hasWord(w.runs, option):
			w.hasText = w.hasText || !hasWord(w.loads, option)
			return true, rest == ""
		case hasWord(w.values, option):
			return false, rest == ""
		}
	}
	return false, false
}

// isListed reports whether an option is in a list, long ones abbreviated.
func (w *walk) isListed(list, name string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(option string) bool {
		return option == name || !hasWord(flags, name) && len(name) > 3 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	})
}

// dataFrom returns the index of the "--" of a command after which no element is an option, or the
// command's length. That of a program that runs another one ends its own options, not the other's.
func dataFrom(command []string) int {
	name := nameOf(command[0])
	if p := findInterpreter(name, ""); p != nil {
		w := walk{interpreter: p, name: name, args: command[1:]}
		if at := w.wrapped(); at >= 0 {
			return 1 + at + dataFrom(command[1+at:])
		}
	}
	if at := slices.Index(command[1:], "--"); at >= 0 {
		return 1 + at
	}
	return len(command)
}

// wrapped returns the index of the program that is run, or -1 where it is not known.
func (w *walk) wrapped() int {
	for i := 0; i < len(w.args); i++ {
		switch arg := w.args[i]; {
		case arg == "--" && !w.onlyData:
			w.onlyData = true
		case !w.onlyData && len(arg) > 1 && arg[0] == '-':
			if _, next := w.option(arg); next {
				i++
			}
		case w.wraps && isSetting(arg):
		case w.wraps && w.operand == w.skips:
			return i
		case w.wraps:
			w.operand++
		default:
			sub := findInterpreter(w.name, arg)
			if sub == nil {
				return -1
			}
			below := walk{interpreter: sub, name: w.name, args: w.args[i+1:]}
			if at := below.wrapped(); at >= 0 {
				return i + 1 + at
			}
			return -1
		}
	}
	return -1
}

// executesInput reports whether a command executes its standard input as program text.
func executesInput(command []string) bool {
	name := nameOf(command[0])
	p := findInterpreter(name, "")
	return p != nil && p.executesInput(name, command[1:])
}

// executesInput is the same for the arguments of a program with a name, or of a subcommand.
func (p *interpreter) executesInput(name string, args []string) bool {
	if p.wraps {
		at := slices.IndexFunc(args, func(element string) bool { return findInterpreter(nameOf(element), "") != nil })
		return at >= 0 && executesInput(args[at:])
	}
	w := walk{interpreter: p, name: name, args: args}
	for i := 0; i < len(w.args); i++ {
		switch arg := w.args[i]; {
		case slices.Contains([]string{"--version", "--help", "-V", "-v", "-h", "-l", "--list"}, arg):
			return false
		case arg == "-c" && p.operands == firstAlways: // of a shell, whose next operand is the text
		case arg == "-" || p.operands == firstAlways && arg == "-s":
			return p.input > 0
		case strings.HasPrefix(arg, "-"):
			if _, next := w.option(arg); next {
				i++
			}
		default:
			if sub := findInterpreter(name, arg); sub != nil && w.operand == 0 {
				return sub.executesInput(name, args[i+1:])
			}
			if w.operand++; w.operand >= p.input {
				return false
			}
		}
	}
	return !w.hasText && p.input > 0
}
