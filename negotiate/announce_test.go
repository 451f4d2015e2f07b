// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/frame"
)

const testBoot = "7f3d4b86-5f2e-4f6e-9c5a-2f1f0a3b4c5d"

func announcement() Announcement {
	return Announcement{
		Protocol: AnnounceVersion, Host: "robot", BootID: testBoot, Session: strings.Repeat("0f", 16), Version: "0.1.0", PID: 42,
		Stream: StreamInfo{
			Name: "test/color", Camera: "test", Source: "pattern", State: "running",
			Geometry:   frame.Geometry{Width: 1280, Height: 720, Encoding: frame.BGRA8, Step: 5120},
			IntervalNS: 16666667, Epoch: 3, Subscribed: 2, Host: "robot", Topic: "/test/color/image_raw", Domain: 7,
		},
		Subscribers: []AnnouncedSubscriber{
			{Backend: BackendSHM, Client: "camsub", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
			{Backend: BackendCPU, Host: "laptop", Client: "camsub", Rejected: []Rejected{{Backend: BackendSHM, Reason: ReasonDifferentHost}}},
		},
		Topics:     []AnnouncedTopic{{Topic: "/test/color/image_raw", Type: "sensor_msgs/msg/Image", Encoding: "bgra8", QoS: "best effort"}},
		RuntimeDir: "/run/camd",
	}
}

// The document is what other versions read: it does not change by accident.
func TestAnnouncementGolden(t *testing.T) {
	a := announcement()
	b, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "announcement.json")
	if *update {
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(b)); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
	back, err := DecodeAnnouncement(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&a, back); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestAnnouncementIsBounded(t *testing.T) {
	a := announcement()
	long := strings.Repeat("d", 3*maxText)
	for i := range 200 {
		a.Subscribers = append(a.Subscribers, AnnouncedSubscriber{
			Backend: BackendCPU, Client: fmt.Sprint(i), Rejected: []Rejected{{BackendSHM, ReasonRingFull, long}},
		})
	}
	a.Stream.Problem = long
	b, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAnnouncement(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > MaxAnnouncement || !got.Truncated || len(got.Subscribers) == 0 || got.Subscribers[0].Client != "camsub" {
		t.Errorf("%d bytes, %d subscribers, truncated %v", len(b), len(got.Subscribers), got.Truncated)
	}
	if len(a.Subscribers) != 202 || a.Subscribers[100].Rejected[0].Detail != long {
		t.Error("the list of the caller has changed")
	}
}

func TestAnnouncementRefuses(t *testing.T) {
	good := func(change func(*Announcement)) string {
		a := announcement()
		change(&a)
		b, err := a.Encode()
		if err == nil {
			return string(b)
		}
		if !errors.Is(err, ErrMessage) {
			t.Errorf("encoding: %v", err)
		}
		return ""
	}
	whole := good(func(*Announcement) {})
	for name, b := range map[string]string{
		"nothing":         "",
		"no object":       "[]",
		"another version": strings.Replace(whole, `"protocol":1`, `"protocol":2`, 1),
		"too long":        whole + strings.Repeat(" ", MaxAnnouncement),
		"session":         strings.Replace(whole, "0f0f", "0x0f", 1),
		"terminal":        strings.Replace(whole, `"host":"laptop"`, `"host":"\u001b[2J"`, 1),
		"geometry":        strings.Replace(whole, `"width":1280`, `"width":-1`, 1),
		"no stream":       strings.Replace(whole, `"name":"test/color"`, `"name":""`, 1),
	} {
		if _, err := DecodeAnnouncement([]byte(b)); !errors.Is(err, ErrAnnouncement) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Announcement){
		"session":   func(a *Announcement) { a.Session = "x" },
		"directory": func(a *Announcement) { a.RuntimeDir = "/tmp/\x1b" },
		"topics":    func(a *Announcement) { a.Topics = make([]AnnouncedTopic, maxAnnouncedTopics+1) },
	} {
		if good(change) != "" {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestAnnouncedKeys(t *testing.T) {
	for _, c := range []struct {
		key  AnnouncedKey
		want string
	}{
		{AnnouncedKey{testBoot, "test/color"}, "camd/1/" + testBoot + "/test/color"},
		{AnnouncedKey{testBoot, "front/color/jpeg"}, "camd/1/" + testBoot + "/front/color%2Fjpeg"},
		{AnnouncedKey{"", "ü/@a$*#?%"}, "camd/1/-/%C3%BC/%40a%24%2A%23%3F%25"},
	} {
		if got := c.key.String(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.key, got, c.want)
		}
		if back, err := ParseAnnouncedKey(c.want); err != nil || back != c.key {
			t.Errorf("%s: %+v, %v", c.want, back, err)
		}
	}
	sub := SubscriberKey{
		AnnouncedKey: AnnouncedKey{testBoot, "front/color/jpeg"}, ID: "abc123.2", Host: "laptop", Program: "my viewer",
		Rejected: []Rejected{{Backend: BackendCUDA, Reason: ReasonNotOffered}, {Backend: BackendSHM, Reason: ReasonDifferentHost}},
	}
	want := "camd/1/" + testBoot + "/front/color%2Fjpeg/sub/abc123.2/laptop/my%20viewer/cuda:not_offered,shm:different_host"
	if got := sub.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	plain := SubscriberKey{AnnouncedKey: sub.AnnouncedKey, ID: "abc"}
	for _, k := range []SubscriberKey{sub, plain} {
		back, err := ParseSubscriberKey(k.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k, back); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, bad := range []string{
		"", "camd", "camd/2/a/b/c", "camd/1/a/b", "camd/1/a/b/c/d", "camd/1//b/c", "camd/1/a/b/%", "camd/1/a/b/%1b[2J",
		"camd/1/a/" + strings.Repeat("b", MaxName) + "/c", want, "camd/1/a/b/" + strings.Repeat("%41", 4000),
	} {
		if _, err := ParseAnnouncedKey(bad); !errors.Is(err, ErrAnnouncement) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{
		"camd/1/a/b/c", strings.Replace(want, "/sub/", "/bus/", 1), want + "/x", want + ",", strings.Replace(want, "laptop", "%07", 1),
		want + strings.Repeat(",a:b", 20),
	} {
		if _, err := ParseSubscriberKey(bad); !errors.Is(err, ErrAnnouncement) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAskedFrom(t *testing.T) {
	for params, want := range map[string]string{
		AskBoot(testBoot): testBoot, AskBoot(""): "", "x=1;boot=a%3Bb;y": "a;b", "boot": "", "boot=%": "",
		"boot=" + strings.Repeat("a", 1000): "", AskBoot("a;b=c"): "a;b=c",
	} {
		if got := AskedFrom(params); got != want {
			t.Errorf("%q: %q, want %q", params, got, want)
		}
	}
}

func FuzzDecodeAnnouncement(f *testing.F) {
	a := announcement()
	b, err := a.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"protocol":1,"session":"` + a.Session + `","stream":{"name":"a/b"}}`))
	f.Add([]byte(`{"protocol":1,"subscribers":[{"rejected":[{}]}],"topics":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeAnnouncement(b)
		if err != nil {
			if !errors.Is(err, ErrAnnouncement) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := a.Encode()
		if err != nil {
			t.Fatalf("decoded, but does not encode: %v", err)
		}
		if _, err := DecodeAnnouncement(again); err != nil {
			t.Fatalf("encoded, but does not decode: %v", err)
		}
	})
}

func FuzzAnnouncedKeys(f *testing.F) {
	f.Add("camd/1/" + testBoot + "/front/color%2Fjpeg")
	f.Add("camd/1/a/b/c/sub/d/e/-/cuda:not_offered,shm:ring_full")
	f.Fuzz(func(t *testing.T, key string) {
		if k, err := ParseAnnouncedKey(key); err == nil {
			if again, err := ParseAnnouncedKey(k.String()); err != nil || again != k {
				t.Errorf("%q: %+v became %+v, %v", key, k, again, err)
			}
		}
		if k, err := ParseSubscriberKey(key); err == nil {
			again, err := ParseSubscriberKey(k.String())
			if err != nil || !cmp.Equal(k, again) {
				t.Errorf("%q: %+v became %+v, %v", key, k, again, err)
			}
		}
		AskedFrom(key)
	})
}
