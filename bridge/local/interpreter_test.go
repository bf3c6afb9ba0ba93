package local

import (
	"slices"
	"strings"
	"testing"
)

// code has commands whose {x} is executed, and data those whose {x} is not.
const (
	code = `
sh -c {x}
sh -ec {x}
sh -c -e {x}
sh {x}
bash -o pipefail -c {x}
bash +o history -c {x}
bash --rcfile {x}
su - www -c {x}
cmd.exe /c dir {x}
pwsh -Command {x}
ssh host ls {x}
ssh -o ProxyCommand={x} host
ssh -p 22 host {x}
watch {x}
python3 -c{x}
python3.12 -Ic {x}
/usr/bin/python3 -m {x}
python {x}
perl -ne {x}
perl -M{x} script.pl
perl -{x} script.pl
perl -ne print {x}
perl -pe s/a/b/ -- {x}
ruby -e {x}
node --eval={x}
node --ev={x}
node -r {x} script.js
deno eval {x}
bun run {x}
php -r {x}
Rscript -e {x}
lua5.4 -e {x}
tclsh {x}
expect -c {x}
osascript -e {x}
java -jar {x}
emacs --batch --eval {x}
octave --eval {x}
awk {x}
awk BEGIN{print{x}}
gawk -f {x}
mawk -- {x}
awk -F , {x}
sed -n {x}
sed s/{x}/b/
sed -ne {x}
sed --exp={x}
sed s/a/b/ file -e {x}
m4 -Da={x} file
dc -e {x}
ed {x}
vim -c {x}
vim +{x} file
vim {x}
less +{x}
man -P {x} ls
sqlite3 :memory: {x}
sqlite3 -cmd {x} a.db
psql -c {x}
psql shop -c {x}
psql --comm={x}
mysql -e {x}
mariadb shop -e{x}
make {x}
make --eval={x}
make CC={x}
git -c {x} status
git {x}
git config a.b {x}
git submodule foreach {x}
git rebase --exec {x}
git clone -c {x} url
git fetch --upload-pack={x}
gdb -ex {x}
lldb -o {x}
tar --to-command={x} -xf a.tar
tar -I {x} -xf a.tar
rsync -e {x} a b
wget -e {x} url
find . -exec {x} ;
find . -exec sh -c {x} ;
find . -name *.c -execdir awk {x} ;
fd -x {x}
env {x}
env A=b sh -c {x}
env -S {x}
env -u HOME python3 -c {x}
sudo -u www {x}
sudo -u www sh -c {x}
nice -n 5 bash -lc {x}
nice --adjustment 5 sh -c {x}
timeout 5 sh -c {x}
timeout -s KILL 5 {x}
flock lock -c {x}
xargs {x}
xargs -n 1 sh -c {x}
busybox sh -c {x}
npx {x}
docker exec c sh -c {x}
docker run --rm image awk {x}
docker run {x}
docker run --rm -it -v a:/a image {x}
docker run --entrypoint {x} image
docker exec -u www c {x}
docker --context a container exec c {x}
docker compose -f a.yml run svc {x}
podman run image env A=b sh -c {x}
kubectl {x}
kubectl exec -n a pod -- {x}
kubectl run a --image={x}
npx -c {x}
npx.cmd {x}
dnx {x}
C:\nodejs\npm.CMD run {x}
./gradlew.bat {x}
py -3 -c {x}
py.exe -3.12 {x}
npx -p {x} cmd
npm exec -- {x}
npm run {x}
npm install {x}
npm i -g {x}
npm install left-pad {x}
pnpm add -w {x}
yarn {x}
yarn add -D {x}
yarn global add {x}
yarn create {x}
npm create {x}
npm init -y {x}
bun create {x}
pip install {x}
pip3 install --upgrade --pre {x}
pip3.12 download {x}
python3 -m pip install {x}
py -3 -Im pip install --upgrade {x}
python -mpip install {x}
python -Impip install {x}
pip --python {x} list
pip install -r {x}
pip {x}
pipx install {x}
pipx inject black {x}
uv add {x}
uv pip install {x}
uv tool install {x}
poetry add {x}
gem install {x}
cargo install {x}
cargo install --git {x}
pnpm dlx {x}
bunx {x}
bun x {x}
deno run -A {x}
pipx run {x}
pipx run --spec {x} cmd
uvx --from pkg {x}
uv run {x}
uv run python -c {x}
uv tool run {x}
poetry run {x}
conda run -n a {x}
conda install -y {x}
conda create -n a {x}
mamba install -n a --file {x}
conda env create -f {x}
uv --python {x} run a
uv run --python {x} pytest
uv run -p {x} pytest
uv run --python={x} pytest
uvx --python {x} ruff
uv pip install --python {x} black
uv pip install -p {x} black
uv pip sync {x}
uv tool install --python {x} black
uv add --python {x} black
uv sync -p {x}
uv venv --python {x}
uv pip list --python {x}
pipx install --python {x} black
pipx run --python {x} black
pipx reinstall --python {x} black
pipenv --python {x}
sox {x} a.wav
sox -t wav {x} -n stat
sox -m a.wav {x} b.wav norm
play -q {x} trim 1
soxi {x}
bundle exec ruby -e {x}
nix run {x}
nix develop --command {x}
nix-shell --run {x}
systemd-run --user --wait {x}
xvfb-run -a {x}
nsenter -t 1 -m {x}
gosu www {x}
timeout 5 env A=b nice pipx run {x}
php -d {x} a.php
go run {x}
go test -exec {x}
mvn {x}
cmake -P {x}
rg --pre {x} a
fzf --preview {x}
pandoc --lua-filter {x}
pandoc -L{x} a.md
tcpdump -z {x}
hyperfine {x}
ansible all -m shell -a {x}
wsl -e {x}
nu -c {x}
`
	data = `
sh -c code - {x}
sh script.sh {x}
sh script.sh -c {x}
bash -o pipefail script.sh {x}
python3 script.py {x}
python3 -c code {x} --b={x}
python3 -m json.tool {x}
perl script.pl {x}
perl -e code {x}
node script.js {x}
bun run build {x}
java -cp app.jar Main {x}
awk {print$1} {x}
awk -v a={x} code
awk -va={x} code
awk -F {x} code
sed s/a/b/ {x}
sed -e s/a/b/ {x}
sed -i.bak s/a/b/ {x}
vim -- {x}
sqlite3 {x} .tables
psql -v a={x} -f query.sql
mysql -h {x} -e code
make -j {x} all
git commit -m {x}
git switch -c {x}
git log --grep={x} -- {x}
git -C {x} status
git clone {x}
tar -xf {x}
tar -C {x} -xf a.tar
find {x} -name *.c
find . -name {x}
find . -exec grep -l {x} {} ;
env A={x} printenv
nice -n {x} ls
timeout {x} ls
timeout 5 grep {x}
xargs -n {x} grep {x}
docker exec c ls {x}
docker exec c python3 script.py {x}
npx prettier {x}
docker run image ls {x}
docker run -v {x}:/a --name {x} image ls
docker exec {x} ls
docker inspect {x}
docker compose logs {x}
kubectl get node {x}
kubectl exec -n {x} pod -- ls {x}
npm view {x}
npm install --prefix {x} left-pad
npm uninstall {x}
pip show {x}
pip install --target {x} black
pip install --target={x} black
python3 -m pip show {x}
python3 -mpip show {x}
python3 -c "import m" {x}
python3 -m pip install --target {x} black
npm create vite@latest {x}
npm init --scope {x} react-app
uv pip show {x}
uv remove {x}
pipx uninstall {x}
gem list {x}
cargo install --root {x} ripgrep
npm run build -- {x}
yarn why {x}
pipx run black {x}
uvx ruff check {x}
uvx --from pkg tool {x}
uv run script.py {x}
bunx prettier {x}
poetry run pytest {x}
conda run -n {x} pytest
conda install -n {x} numpy
conda env remove -n {x}
conda list {x}
uv sync --extra {x}
uv pip compile a.in -o {x}
uv venv {x}
sox ./{x} -r {x} {x} trim {x} {x}
sox -n {x} synth {x} sine {x}
sox a.wav {x}
play -n synth {x} sine {x}
nix search nixpkgs {x}
nix develop -c ls {x}
systemd-run --user ls {x}
go test -run {x} ./...
cargo test {x}
mvn -Dtest={x} test
cmake -S {x} -B build
rg -e {x} {x}
fzf -f {x}
pandoc -t html {x}
tcpdump -r {x}
deno fmt {x}
jq {x}
ssh -p {x} host uptime
jq --arg a {x} .
grep -c -- {x}
ls {x}
`
)

// What a program would execute is recognized, in all the ways in which it is given; plain arguments
// of the same programs are not. Each {x} is tried.
func TestInterpreters(t *testing.T) {
	for _, command := range strings.Split(strings.TrimSpace(code+optionCode[1:]), "\n") {
		elements := strings.Fields(command)
		if at := slices.IndexFunc(elements, hasPlaceholder); !isCode(elements, at) {
			t.Errorf("%s: taken for data", command)
		}
	}
	for _, command := range strings.Split(strings.TrimSpace(data+optionData[1:]), "\n") {
		elements := strings.Fields(command)
		for at, element := range elements {
			if hasPlaceholder(element) && isCode(elements, at) {
				t.Errorf("%s: element %d taken for code", command, at)
			}
		}
	}
}

// What comes after the "--" of a program that runs another one can be an option of that.
func TestDataFrom(t *testing.T) {
	for command, want := range map[string]int{
		"git log -- {x}": 2, "git log {x}": 3, "kubectl exec pod -- ls {x}": 6, "kubectl -n ns exec -it pod -- ls -- {x}": 8, "docker exec c ls -- {x}": 4,
		"sudo -u www -- ls {x}": 6, "env A=b -- git log -- {x}": 5, "npx -- tool {x}": 4, "sudo -- env -- ls {x}": 6, "timeout 5 ls -- {x}": 3,
		"docker ps -- {x}": 2, "sh -c code -- {x}": 3, "find . -- {x}": 2, "npm run build -- {x}": 3, "nice": 1,
	} {
		if got := dataFrom(strings.Fields(command)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}

// A program that can execute its standard input does so only without a script or a code argument.
func TestInterpretersOfInput(t *testing.T) {
	for command, want := range map[string]bool{
		"sh": true, "bash -e": true, "bash -s x": true, "sh script.sh": false, "sh -c code": false, "bash -o pipefail": true, "bash --version": false, "env A=b sh": true, "sudo -u www bash -e": true,
		"python3": true, "python3 -": true, "python3 -c code": false, "python3 -m json.tool": false, "python3 script.py -": false, "node": true, "perl -e code": false, "awk code": false,
		"sqlite3 a.db": true, "sqlite3 a.db .tables": false, "psql shop": true, "psql -c code shop": false, "psql -l": false, "mysql -e code": false, "mysql shop": true,
		"ssh host": true, "ssh -p 22 host": true, "ssh host uptime": false, "ed file": true, "dc": true, "dc file": false, "cat": false, "jq .a": false, "git log": false, "find .": false, "xargs echo": false, "timeout 5 sh": true,
		"docker exec -i c sh": true, "docker exec -i c cat": false, "docker ps": false, "kubectl exec -i pod -- psql shop": true, "npx sh": true, "uv run python": true, "uv run script.py": false,
	} {
		if got := executesInput(strings.Fields(command)); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}

func hasPlaceholder(element string) bool { return strings.Contains(element, "{x}") }
