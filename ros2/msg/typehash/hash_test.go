// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package typehash

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func definitions(m map[string]string) Lookup {
	return func(name string) (string, bool) {
		s, ok := m[name]
		return s, ok
	}
}

func TestDescriptionOfTheWorkedExample(t *testing.T) {
	t.Parallel()
	defs := definitions(map[string]string{"std_msgs/msg/String": "string data\n"})
	got, err := Description("std_msgs/msg/String", defs)
	want := `{"type_description": {"type_name": "std_msgs/msg/String", "fields": [{"name": "data", "type": {"type_id": 17, "capacity": 0, "string_capacity": 0, "nested_type_name": ""}}]}, "referenced_type_descriptions": []}`
	if err != nil || got != want || len(want) != 210 {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	hash, err := Of("std_msgs/msg/String", defs)
	if want := "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"; err != nil || hash != want {
		t.Errorf("%s, %v, want %s", hash, err, want)
	}
}

func TestEveryFormOfAField(t *testing.T) {
	t.Parallel()
	text := `# a comment
int32 LIMIT=5            # a constant
string NAME = "a # b"
byte[] raw               # unbounded
char c
bool[3] flags
uint16[<=7] few
string<=10 short
string<=10[<=5] shorts
wstring wide
wstring<=4[] wides
Other other
pkg/Other[2] others
far/msg/Thing[<=9] things
float64 x 1.5
string text "key = value"
int32[] list [1, 2]
`
	got, err := parse("pkg", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []field{
		{"raw", 160, 0, 0, ""},
		{"c", 3, 0, 0, ""},
		{"flags", 63, 3, 0, ""},
		{"few", 101, 7, 0, ""},
		{"short", 21, 0, 10, ""},
		{"shorts", 117, 5, 10, ""},
		{"wide", 18, 0, 0, ""},
		{"wides", 166, 0, 4, ""},
		{"other", 1, 0, 0, "pkg/msg/Other"},
		{"others", 49, 2, 0, "pkg/msg/Other"},
		{"things", 97, 9, 0, "far/msg/Thing"},
		{"x", 11, 0, 0, ""},
		{"text", 17, 0, 0, ""},
		{"list", 150, 0, 0, ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	if empty, err := parse("pkg", "# nothing\n"); err != nil || len(empty) != 1 || empty[0].name != "structure_needs_at_least_one_member" {
		t.Errorf("a message without fields has %v, %v", empty, err)
	}
}

func TestReferencesAreSortedAndMayGoInCircles(t *testing.T) {
	t.Parallel()
	defs := definitions(map[string]string{
		"p/msg/A": "Z z\nB b\n", "p/msg/B": "A a\nZ z\n", "p/msg/Z": "B[] b\n",
	})
	got, err := References("p/msg/A", defs)
	if want := []string{"p/msg/B", "p/msg/Z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestDefinitionsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"int32\n":                             `line 1: "int32" has no name`,
		"\nint32 Upper\n":                     `line 2: field name "Upper"`,
		"int32[ x\n":                          `type "int32["`,
		"int32<=5 x\n":                        "only strings have a bound",
		"Other<=5 x\n":                        "only strings have a bound",
		"int32[<=] x\n":                       "no bound",
		"int32[99999999999999999999] x\n":     "value out of range",
		"string<=99999999999999999999 x\n":    "value out of range",
		"a/b/c/d x\n":                         `type "a/b/c/d"`,
		`Name"}]} x` + "\n":                   "type",
		"int32 x\"}\n":                        "field name",
		strings.Repeat("int32 x\n", 3) + "?!": `"?!" has no name`,
	} {
		_, err := Of("p/msg/A", definitions(map[string]string{"p/msg/A": text}))
		if !errors.Is(err, ErrDefinition) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := Of("p/msg/A", definitions(map[string]string{"p/msg/A": "B b\n"}))
	if !errors.Is(err, ErrUnknownType) || !strings.Contains(err.Error(), "p/msg/B, needed for p/msg/A") {
		t.Error(err)
	}
}

func FuzzDescription(f *testing.F) {
	f.Add("string data\n")
	f.Add("string<=10[<=5] shorts\nint32 X=1\nOther[3] o # c\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Description("p/msg/A", func(name string) (string, bool) {
			if name == "p/msg/A" {
				return text, true
			}
			return "", true
		})
		if err == nil && strings.Count(got, `"`)%2 != 0 {
			t.Error(got)
		}
	})
}
