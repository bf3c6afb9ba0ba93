package local

// Commands whose program comes after options, with a value or without one. See TestInterpreters.
const (
	optionCode = `
uv --cache-dir /c run {x}
uv --cache-dir /c {x}
uv --color never run {x}
uv --config-file a.toml run {x}
uv --allow-insecure-host h run {x}
uv --some-new value run {x}
uv run --cache-dir /c {x}
uv run --color never {x}
uv run --config-file c {x}
uv run --python-platform linux {x}
uv run -m {x}
uv run --module {x}
uv run -s {x}
uv run --script {x}
uv run --resolution lowest {x}
uv run --exclude-newer 2024-01-01 {x}
uv run -P black {x}
uv run --upgrade-package black {x}
uv run --no-binary-package a {x}
uv run --env-file .env {x}
uvx --cache-dir /c {x}
uvx -p 3.12 {x}
uvx --with a {x}
uvx -w a {x}
uvx --env-file a {x}
uvx --directory d {x}
uvx --project d {x}
uvx --constraints a {x}
uvx -c a {x}
npx --cache d {x}
npx --prefix d {x}
npx --userconfig f {x}
npx --loglevel error {x}
npx --script-shell {x} a
npm --cache d exec {x}
npm --loglevel error run {x}
npm --userconfig f exec {x}
npm exec --cache d {x}
npm exec --registry r {x}
npm exec --prefix p {x}
npm exec --script-shell {x} a
pnpm --store-dir d dlx {x}
pnpm dlx --store-dir d {x}
pnpm dlx --reporter silent {x}
pnpm --package=a dlx {x}
pnpm --reporter silent dlx {x}
pnpm --allow-build {x} dlx a
bunx -p pkg {x}
bunx --package pkg {x}
bunx --bun {x}
bun --cwd d run {x}
bun --cwd d x {x}
bun --config c run {x}
bun run --cwd d {x}
bun run --env-file .env {x}
bun run --preload {x} a.ts
bun run -r {x} a.ts
docker run --volume a:/a --network none {x}
docker run --restart no {x}
docker run --runtime runc {x}
docker run --blkio-weight 5 {x}
docker run --device-cgroup-rule r {x}
docker run --health-interval 5s {x}
docker run --oom-score-adj 5 {x}
docker run --storage-opt a {x}
docker run --volume-driver v {x}
docker run --kernel-memory 5 {x}
docker run --label a=b {x}
docker --log-level debug run {x}
docker --tlscacert f run {x}
docker --new-option v run {x}
podman --root /r run {x}
podman run --secret s {x}
podman run --cgroups no {x}
podman run --pod p {x}
podman run --rootfs {x}
deno run --config c.json {x}
deno run -c c.json {x}
deno run --import-map m.json {x}
deno run --cert c {x}
deno run --location l {x}
deno run --seed 5 {x}
deno run --preload {x} a.ts
deno run --import-map {x} a.ts
deno --config c.json run {x}
deno --quiet run {x}
deno -A {x}
python -X importtime {x}
python -W error {x}
python -X importtime -c {x}
python --check-hash-based-pycs always {x}
python3 -Ximporttime {x}
node -r ./hook.js {x}
node --require ./hook.js {x}
node --import ./hook.js {x}
node -C dev {x}
node --conditions dev {x}
node --env-file .env {x}
node --input-type module -e {x}
node --title t {x}
perl -M Foo {x}
perl -Mstrict {x}
ruby -r json {x}
ruby -rjson {x}
lua -l m {x}
gawk -i inplace {x}
gawk -l ext {x}
julia -L a.jl {x}
php -d a=b {x}
java -cp a.jar {x}
env -u HOME {x}
env --unset HOME {x}
env -C /tmp {x}
env -i {x}
env - {x}
env --argv0 a {x}
env -a a {x}
sudo -u www {x}
sudo --user www {x}
sudo -D /tmp {x}
sudo --chdir /tmp {x}
sudo --prompt p {x}
sudo --host h {x}
sudo --close-from 3 {x}
sudo --command-timeout 5 {x}
sudo --chroot /r {x}
sudo --role r {x}
sudo -n -u www {x}
doas -u www {x}
doas -C f {x}
nice -n 5 {x}
nice --adjustment 5 {x}
nice -5 {x}
ionice -c 2 -n 7 {x}
taskset -c 1 {x}
timeout -k 5 10 {x}
timeout --kill-after 5 10 {x}
timeout --signal KILL 10 {x}
timeout -k 5 -s KILL 10 {x}
timeout --foreground 10 {x}
stdbuf -o L {x}
stdbuf --output L {x}
time -f fmt {x}
time --format fmt {x}
time -o file {x}
setpriv --reuid 1000 {x}
unshare --root /r {x}
unshare -R /r {x}
strace -s 100 {x}
strace -P path {x}
xargs --replace {x}
env - A=b {x}
env - {x}
time -p {x}
setsid -f {x}
setsid -c {x}
unshare -n {x}
unshare -f {x}
chrt -f 10 {x}
taskset 0x3 {x}
caffeinate -i {x}
caffeinate -t 5 {x}
entr -c {x}
strace -x {x}
strace -n {x}
ltrace -x f {x}
docker exec --detach c {x}
docker run --detach {x}
sudo --login {x}
uv add --upgrade {x}
uv run --no-build {x}
uv run --refresh {x}
node --inspect {x}
bun run --inspect {x}
npm --global exec {x}
npx --global {x}
systemd-run --on-active 5 {x}
nice -n 5 {x}
bun {x}
bun --smol run {x}
deno run {x}
deno {x}
perl -C -ne print {x}
perl -i.save -ne print {x}
perl -F{x} -ane print
perl -ae print {x}
perl -F: -e print {x}
python -m timeit {x}
python3 -m timeit -n 5 {x}
python -m cProfile -o f {x}
python -m pdb -c next {x}
python -m profile {x}
php -S :80 {x}
pnpm -w exec sh -c {x}
pnpm exec -w {x}
pnpm -w add a {x}
pnpm -C d exec sh -c {x}
pnpm dlx -C d {x}
npx -C d {x}
pnpx -w {x}
bunx -i {x}
npx --all {x}
npx --min-release-age 7 {x}
bunx --minimum-release-age 7 {x}
bun -F a run {x}
bun --user-agent a {x}
deno run --lock l {x}
deno run --conditions c {x}
node --watch {x}
node --watch-path d {x}
node --test {x}
node --test-reporter spec {x}
node --unhandled-rejections strict {x}
uv run --no-editable {x}
uv run --prerelease-package a {x}
kubectl exec --cluster c pod -- {x}
kubectl exec --v 9 pod -- {x}
kubectl --as a exec --as-group g pod -- sh -c {x}
kubectl run a --image i --field-manager m -- {x}
`
	optionData = `
uv --cache-dir /c run script.py {x}
uv --offline run script.py {x}
uv run --offline script.py {x}
uv run --with a script.py {x}
uv run --frozen --no-sync pytest {x}
uv run -m pytest {x}
uvx --offline ruff {x}
npx --yes prettier {x}
npx -y prettier {x}
npx --no-install prettier {x}
npx -y --quiet prettier {x}
npm exec --yes -- prettier {x}
npm --silent view {x}
pnpm dlx --silent prettier {x}
bunx --bun prettier {x}
docker run --rm image ls {x}
docker run -it --init image ls {x}
docker run --read-only --privileged image ls {x}
docker --debug inspect {x}
docker --tls inspect {x}
git --no-pager log {x}
deno run -A a.ts {x}
deno run --allow-net --no-lock a.ts {x}
deno run --config c.json a.ts {x}
python -X importtime a.py {x}
python -W error a.py {x}
python -u a.py {x}
node -r ./hook.js a.js {x}
node --import ./hook.js a.js {x}
node --enable-source-maps a.js {x}
node --env-file .env a.js {x}
perl -Mstrict -e code {x}
perl -Mstrict a.pl {x}
ruby -rjson -e code {x}
gawk -i inplace code {x}
java -cp a.jar Main {x}
env -u HOME ls {x}
env -i ls {x}
sudo -n ls {x}
sudo -E -u www ls {x}
nice -n 5 ls {x}
timeout -k 5 10 ls {x}
timeout --foreground 10 ls {x}
timeout --preserve-status 10 ls {x}
nohup ls {x}
env - ls {x}
taskset -c 1 ls {x}
chrt -f 10 ls {x}
time -p ls {x}
docker exec --detach c ls {x}
docker exec --detach -it c ls {x}
deno a.ts {x}
bun a.ts {x}
bun run build {x}
xargs -I X grep {x}
stdbuf -oL ls {x}
perl -C a.pl {x}
python -m cProfile a.py {x}
python -m cProfile -m a {x}
php -S :80 -t {x}
pnpm -w list {x}
pnpm -w exec prettier {x}
npx --audit prettier {x}
node --watch a.js {x}
node --cpu-prof a.js {x}
node --watch-path d a.js {x}
deno run --lock l a.ts {x}
uv run --no-editable a.py {x}
kubectl exec --cluster c pod -- ls {x}
kubectl run a --image i --field-manager m -- ls {x}
`
)
