// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// newest is the release that most tests run.
var newest = venv.ROS2

// releases are those of routers: ROS 2's rmw_zenohd has one in between.
var releases = map[string]venv.Env{
	"1.10.2": newest,
	"1.9.0":  {Name: "zenoh", Pins: []string{"eclipse-zenoh==1.9.0"}, Imports: "import zenoh"},
	"1.5.1":  {Name: "zenoh", Pins: []string{"eclipse-zenoh==1.5.1"}, Imports: "import zenoh"},
}

// Keys of topics as rmw_zenoh makes them.
const (
	rawA       = "0/front/color/image_raw/sensor_msgs::msg::dds_::Image_/RIHS01_d31d"
	rawB       = "0/rear/color/image_raw/sensor_msgs::msg::dds_::Image_/RIHS01_d31d"
	large      = "0/top/color/image_raw/sensor_msgs::msg::dds_::Image_/RIHS01_d31d" // a camera without a rate, larger than the radio bears
	compressed = "0/front/color/image_raw/compressed/sensor_msgs::msg::dds_::CompressedImage_/RIHS01_15640771"
	info       = "0/front/color/camera_info/sensor_msgs::msg::dds_::CameraInfo_/RIHS01_b3df"
)

// certificates runs the script that makes them in a new folder.
func certificates(t testing.TB) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no openssl: ", err)
	}
	dir = t.TempDir()
	cmd := exec.Command("sh", files(t, "make-test-ca.sh"), "robot.local", "192.0.2.1", "2001:db8::1")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	const want = "tls: ca.pem, server.pem, server-key.pem (router: DNS:localhost,IP:127.0.0.1,IP:::1,DNS:robot.local,IP:192.0.2.1,IP:2001:db8::1), client.pem, client-key.pem; valid for 30 days\n"
	if err != nil || string(out) != want {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// Every release of a router takes every file.
func TestRoutersReadTheirFiles(t *testing.T) {
	dir := certificates(t)
	found, err := filepath.Glob(files(t, "*router.json5"))
	if err != nil || len(found) != 6 {
		t.Fatal(found, err)
	}
	for release, env := range releases {
		for _, file := range found {
			t.Run(release+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				e := tcp(t)
				router(t, env, dir, file, listen(e), connect())
				session(t, "session.json5", e)
			})
		}
	}
}

// Every line of a file that says something has a comment above it, or above the
// lines that it stands with.
func TestEveryLineIsExplained(t *testing.T) {
	found, err := filepath.Glob(files(t, "*.json5"))
	if err != nil || len(found) != 9 {
		t.Fatal(found, err)
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		explained := false
		for i, line := range strings.Split(string(data), "\n") {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "//"):
				explained = true
			case line == "" || strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]"):
				explained = false
			case strings.HasSuffix(line, "{") || strings.HasSuffix(line, "["):
			case !explained:
				t.Errorf("%s:%d: nothing says what %s is for", filepath.Base(file), i+1, line)
			}
		}
	}
}

func TestOneHost(t *testing.T) {
	e := tcp(t)
	router(t, newest, t.TempDir(), files(t, "router.json5"), listen(e))
	camd, viewer := session(t, "session.json5", e), session(t, "session.json5", e)
	r := receive(t, viewer, camd, "viewer")
	put(t, camd, rawA, 3, 6<<20)
	put(t, camd, marker, 1, 0)
	r.want("viewer", map[string]int{rawA: 3})
}

// Loopback stands for the radio: what goes there is thinned out.
func TestRobotAndLaptop(t *testing.T) {
	robot, laptop := tcp(t), tcp(t)
	file := changed(t, "robot-router.json5", "wlan0", "lo", "freq: 5.0", "freq: 0.01")
	router(t, newest, t.TempDir(), file, listen(robot))
	router(t, newest, t.TempDir(), files(t, "laptop-router.json5"), listen(laptop), connect(robot))
	camd := session(t, "session.json5", robot)
	viewers := map[string]receiver{
		"through the laptop's router": receive(t, session(t, "session.json5", laptop), camd, "router"),
		"straight from the robot's":   receive(t, session(t, "laptop-session.json5", robot), camd, "direct"),
	}
	put(t, camd, rawA, 10, 900_000)
	put(t, camd, rawB, 10, 100_000)
	put(t, camd, large, 10, 6<<20)
	put(t, camd, compressed, 10, 100_000)
	put(t, camd, info, 10, 400)
	put(t, camd, marker, 1, 0)
	for what, viewer := range viewers {
		viewer.want(what, map[string]int{rawA: 1, rawB: 1, large: 0, compressed: 10, info: 10})
	}
}

// What goes to the cloud is thinned out, and only who has a certificate gets it;
// programs on the robot have everything.
func TestCloud(t *testing.T) {
	dir := certificates(t)
	cloud, robot := tls(t), tcp(t)
	router(t, newest, dir, files(t, "cloud-router.json5"), listen(cloud))
	router(t, newest, dir, changed(t, "robot-to-cloud-router.json5", "freq: 5.0", "freq: 0.01"), listen(robot), connect(cloud))
	camd := session(t, "session.json5", robot)
	local := receive(t, session(t, "session.json5", robot), camd, "local")
	operator := receive(t, open(t, secure(t, dir, cloud)), camd, "operator")
	put(t, camd, rawA, 10, 900_000)
	put(t, camd, rawB, 10, 900_000)
	put(t, camd, compressed, 10, 100_000)
	put(t, camd, info, 10, 400)
	put(t, camd, marker, 1, 0)
	local.want("a program on the robot", map[string]int{rawA: 10, rawB: 10, compressed: 10, info: 10})
	operator.want("an operator", map[string]int{rawA: 1, rawB: 0, compressed: 1, info: 10}) // raw ones share a rate

	c := secure(t, dir, cloud)
	c.TLS.MutualTLS, c.TLS.ConnectCertificate, c.TLS.ConnectKey = false, "", ""
	refused(t, "an operator without certificate", c)
}

func TestMutualTLS(t *testing.T) {
	dir, strangers := certificates(t), certificates(t)
	outside, inside := tls(t), tcp(t)
	router(t, newest, dir, files(t, "mtls-router.json5"), listen(outside, inside))
	camd := session(t, "session.json5", inside)
	viewer := receive(t, open(t, secure(t, dir, outside)), camd, "viewer")
	put(t, camd, rawA, 3, 6<<20)
	put(t, camd, marker, 1, 0)
	viewer.want("viewer with a certificate", map[string]int{rawA: 3})

	c := secure(t, dir, outside)
	c.TLS.MutualTLS, c.TLS.ConnectCertificate, c.TLS.ConnectKey = false, "", ""
	refused(t, "a client without certificate", c)
	c = secure(t, dir, outside)
	c.TLS.ConnectCertificate, c.TLS.ConnectKey = filepath.Join(strangers, "tls/client.pem"), filepath.Join(strangers, "tls/client-key.pem")
	refused(t, "a client with a stranger's certificate", c)
	c = secure(t, dir, outside)
	c.TLS.RootCA = filepath.Join(strangers, "tls/ca.pem")
	refused(t, "a router of another authority", c)
	c = secure(t, dir, strings.Replace(outside, "localhost", "127.0.0.2", 1))
	refused(t, "a router by a name that is not in its certificate", c)
	c = settings(t, "session.json5", strings.Replace(outside, "tls/", "tcp/", 1))
	refused(t, "a client without TLS", c)
}

func TestMakeTestCARefusesToMix(t *testing.T) {
	dir := certificates(t)
	cmd := exec.Command("sh", files(t, "make-test-ca.sh"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "tls/ca.pem is there already") {
		t.Errorf("%v: %s", err, out)
	}
	for _, key := range []string{"ca", "server", "client"} {
		if info, err := os.Stat(filepath.Join(dir, "tls", key+"-key.pem")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s-key.pem: %v, %v", key, info.Mode(), err)
		}
	}
}
