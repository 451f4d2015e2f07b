// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// program is a running example.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func launch(t *testing.T, bin string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.CommandContext(ctx(t), bin, args...)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// all reads until each pattern has matched a line, in any order.
func (p *program) all(patterns ...string) {
	p.t.Helper()
	for len(patterns) > 0 && p.lines.Scan() {
		patterns = slices.DeleteFunc(patterns, func(pattern string) bool {
			return regexp.MustCompile("^" + pattern + "$").MatchString(p.lines.Text())
		})
	}
	if len(patterns) > 0 {
		p.t.Fatalf("no line %q", patterns)
	}
}

// until reads to the line that matches.
func (p *program) until(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile("^" + pattern + "$")
	var seen []string
	for p.lines.Scan() {
		if re.MatchString(p.lines.Text()) {
			return
		}
		seen = append(seen, p.lines.Text())
	}
	p.t.Fatalf("no line %q in\n%s", pattern, strings.Join(seen, "\n"))
}

// interrupt ends the program as Ctrl-C does; that is no error.
func (p *program) interrupt() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.t.Fatal(err)
	}
	for p.lines.Scan() {
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%s: %v", p.cmd.Path, err)
	}
}

// The examples are used as Zenoh's own, with a node of the reference at the
// other end.
func TestExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "../examples/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			n, e := router(t, v)
			examples(t, dir, n, e)
		})
	}
	t.Run("settings", func(t *testing.T) { exampleSettings(t, dir) })
}

func examples(t *testing.T, dir string, n *node, e string) {
	bin := func(name string) string { return filepath.Join(dir, name) }
	at := func(args ...string) []string { return append([]string{"-e", e, "-m", "client"}, args...) }

	n.do(command{"op": "sub", "name": "s", "key": "demo/example/**"}, "declared")
	launch(t, bin("z_put"), at("-k", "demo/example/put", "-p", "hello")...).until(`Putting Data \('demo/example/put': 'hello'\)\.\.\.`)
	if e := n.want("sample"); e.Key != "demo/example/put" || e.Text != "hello" {
		t.Errorf("z_put: %+v", e)
	}
	pub := launch(t, bin("z_pub"), at("-a", "att", "--add-matching-listener")...)
	pub.until("Publisher has matching subscribers\\.")
	pub.until(`Putting Data \('demo/example/zenoh-go-pub': '\[   0\] Pub from Go!'\)\.\.\.`)
	if e := n.want("sample"); e.Text != "[   0] Pub from Go!" || e.Attachment != "att" || e.Encoding != "text/plain" {
		t.Errorf("z_pub: %+v", e)
	}
	pub.interrupt()
	n.tell(command{"op": "undeclare", "name": "s"})
	n.both(func(e event) bool { return e.Ev == "undeclared" }) // more of z_pub may come before

	sub := launch(t, bin("z_sub"), at("-k", "demo/**")...)
	sub.until("Press CTRL-C to quit\\.\\.\\.")
	live := launch(t, bin("z_sub_liveliness"), at("--history")...)
	live.until("Press CTRL-C to quit\\.\\.\\.")
	ask := launch(t, bin("z_queryable"), at("-k", "demo/example/q", "-p", "answer", "--complete")...)
	ask.until("Press CTRL-C to quit\\.\\.\\.")
	token := launch(t, bin("z_liveliness"), at()...)
	live.until(`>> \[LivelinessSubscriber\] New alive token \('group1/zenoh-go'\)`)
	token.interrupt()
	live.until(`>> \[LivelinessSubscriber\] Dropped token \('group1/zenoh-go'\)`)
	live.interrupt()

	n.tell(command{"op": "get", "key": "demo/example/*?a=b", "text": "why"})
	ask.until(`>> \[Queryable \] Received Query 'demo/example/\*\?a=b' with payload 'why'`)
	ask.until(`>> \[Queryable \] Responding \('demo/example/q': 'answer'\)`)
	if e := n.want("reply"); e.Text != "answer" {
		t.Errorf("z_queryable: %+v", e)
	}
	n.want("done")
	launch(t, bin("z_get"), at("-s", "demo/example/q", "-t", "ALL", "-o", "5000")...).until(`>> Received \('demo/example/q': 'answer'\)`)
	ask.interrupt()
	n.do(command{"op": "put", "key": "demo/example/x", "text": "from the node", "attachment": "a"}, "put")
	sub.until(`>> \[Subscriber\] Received PUT \('demo/example/x': 'from the node'\) \(a\)`)
	n.do(command{"op": "delete", "key": "demo/example/x"}, "put")
	sub.until(`>> \[Subscriber\] Received DELETE \('demo/example/x': ''\)`)
	sub.interrupt()

	info := launch(t, bin("z_info"), at()...)
	info.until("zid: [0-9a-f]+")
	info.until(fmt.Sprintf(`routers zid: \[%s\]`, n.zid))
	info.until(`peers zid: \[\]`)

	pong := launch(t, bin("z_pong"), at()...)
	pong.until("Press CTRL-C to quit\\.\\.\\.")
	launch(t, bin("z_ping"), at("-n", "3", "-w", "0", "64")...).until(`64 bytes: seq=2 rtt=[0-9]+µs lat=[0-9]+µs`)
	pong.interrupt()
	thr := launch(t, bin("z_sub_thr"), at("-s", "2", "-n", "1000")...)
	thr.until("Press CTRL-C to quit\\.\\.\\.")
	flood := launch(t, bin("z_pub_thr"), at("-t", "-n", "1000", "-p", "3", "--express", "8")...)
	thr.until(`[0-9.e+]+ msgs/s`)
	thr.until(`Received [0-9]+ messages over [0-9.]+s: [0-9.]+msg/s`)
	flood.until(`[0-9.e+]+ msg/s`)
	flood.interrupt()
}

// run runs an example that ends by itself, with variables, and returns what it
// says on both outputs.
func run(t *testing.T, bin string, env []string, args ...string) (out, complaints string, err error) {
	t.Helper()
	cmd := exec.CommandContext(ctx(t), bin, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// exampleSettings uses an example as a user does who has to find out which
// settings it runs with.
func exampleSettings(t *testing.T, dir string) {
	put := filepath.Join(dir, "z_put")
	file := filepath.Join(t.TempDir(), "session.json5")
	write := func(text string) []string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"ZENOH_SESSION_CONFIG_URI=" + file}
	}
	text := `{
  mode: "peer",
  connect: { endpoints: ["tcp/192.0.2.9:7447"] },
  scouting: { multicast: { autoconnect: { router: "true" } } },
  transport: {
    shared_memory: { enabled: true },
    link: { tx: { queue: { batching: { enabled: false, flush_period: 20 }, size: { data: 7 } }, batch_size: 9000 }, rx: { max_message_size: 8000000 } },
  },
  qos: { publication: [{ key_exprs: ["demo/**"], config: { express: true, priority: "real_time" } }] },
}`
	env := write(text)
	at := func(what string) string { // where it is in the file
		before, _, _ := strings.Cut(text, what)
		return fmt.Sprintf("%s:%d:%d", file, 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
	}
	env = append(env, `ZENOH_CONFIG_OVERRIDE=mode="client";connect/endpoints=["tcp/192.0.2.1:7447"]`)
	out, _, err := run(t, put, env, "--explain", "--cfg", "transport/link/tx/lease:60000")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out, "\n")
	for _, want := range []string{
		"mode = \"client\"\t# $ZENOH_CONFIG_OVERRIDE",
		"connect/endpoints = [\"tcp/192.0.2.1:7447\"]\t# $ZENOH_CONFIG_OVERRIDE",
		"transport/link/tx/lease = 60000\t# --cfg",
		"transport/link/tx/queue/batching/enabled = false\t# " + at("enabled: false"),
		"transport/link/tx/queue/batching/flush_period = 20\t# " + at("flush_period"),
		"transport/link/tx/queue/size/data = 7\t# " + at("data: 7"),
		"transport/link/tx/queue/size/data_low = 2\t# built-in",
		"transport/link/tx/batch_size = 9000\t# " + at("batch_size"),
		"transport/link/rx/max_message_size = 8000000\t# " + at("max_message"),
		"qos/publication = [{\"key_exprs\":[\"demo/**\"],\"config\":{\"priority\":\"real_time\",\"express\":true}}]\t# " + at("publication"),
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not explained in\n%s", want, out)
		}
	}
	for _, want := range []string{"# transport/shared_memory: ", "# scouting/multicast/autoconnect: "} {
		if n := strings.Count(out, want); n != 1 {
			t.Errorf("%s is named %d times in\n%s", want, n, out)
		}
	}
	for text, want := range map[string]string{
		"{\n  mode: \"client\",\n  connect: [,]\n}": file + ":3:13",
		"{ connect: {\n endpoint: [] } }":           file + ":2:2: connect/endpoint is not known; did you mean connect/endpoints?",
	} {
		if _, said, err := run(t, put, write(text)); err == nil || !strings.Contains(said, want) {
			t.Errorf("%s: %v, %s, want %s", text, err, said, want)
		}
	}
}
