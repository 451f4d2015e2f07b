// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/ros2/msg/typehash"
)

// withTestdata also knows the definitions of types that the package has no
// struct for.
func withTestdata(name string) (string, bool) {
	if s, ok := text(name); ok {
		return s, true
	}
	pkg, rest, _ := strings.Cut(name, "/msg/")
	b, err := os.ReadFile("testdata/definitions/" + pkg + "/" + rest + ".msg")
	return string(b), err == nil
}

// published are the hashes of testdata/hashes.txt.
func published(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) == 2 {
			m[words[0]] = typehash.Prefix + words[1]
		}
	}
	return m
}

func TestHashesAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	m := published(t)
	if len(m) != 34 {
		t.Errorf("%d hashes are known", len(m))
	}
	for name, want := range m {
		if got, err := typehash.Of(name, withTestdata); err != nil || got != want {
			t.Errorf("%s has %s, %v, want %s", name, got, err, want)
		}
	}
}

// types are the exported ones.
var types = []Type{
	TypeCameraInfo, TypeCompressedImage, TypeDiagnosticArray, TypeDiagnosticStatus, TypeHeader, TypeImage, TypeImu,
	TypePointCloud2, TypePointField, TypeRegionOfInterest, TypeString, TypeTFMessage, TypeTime, TypeTransformStamped,
}

func TestTypes(t *testing.T) {
	t.Parallel()
	m := published(t)
	for _, typ := range types {
		if typ.Hash != m[typ.Name] {
			t.Errorf("%s has %s, want %s", typ.Name, typ.Hash, m[typ.Name])
		}
	}
	if got, want := TypeImage.Wire(), "sensor_msgs::msg::dds_::Image_"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := `std_msgs/Header header
string format
uint8[] data
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
`
	if got := TypeCompressedImage.Definition(); got != want {
		t.Errorf("definition\n%s\nwant\n%s", got, want)
	}
	if got := (Type{Name: "my_msgs/msg/Own"}).Definition(); got != "" {
		t.Errorf("definition of a type not ours: %q", got)
	}
}
