// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
)

// stamp is the time in a header, as the peer says it.
type stamp struct{ sec, nanosec float64 }

func stampOf(e event) stamp {
	return stamp{number(e.Message, "header", "stamp", "sec"), number(e.Message, "header", "stamp", "nanosec")}
}

// TestPairs holds that camera_info, images and compressed pictures of a camera
// that delivers JPEG have the same times bit for bit, whatever is said of times
// and rates, and also when images are asked for later.
func TestPairs(t *testing.T) {
	file, _ := motion(t)
	for name, options := range map[string]string{
		"plain": "", "publish": ",stamp=publish", "rate": ",max_rate=20", "both": ",stamp=publish,max_rate=12",
		"rate of one": ",streams.color.max_rate=10",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t)
			d := camd(t, p.endpoint, "front=replay:"+file+",@50,loop=true"+options)
			await(t, d, "the topics", func(st daemon.Status) bool {
				return topic(st, images).Topic != "" && topic(st, infos).Topic != "" && topic(st, images+"/compressed").Topic != ""
			})
			subscribe(p, infos, msg.TypeCameraInfo)
			subscribe(p, images+"/compressed", msg.TypeCompressedImage)
			seen := map[string][]stamp{}
			// next collects until so many more messages of the topic are there.
			next := func(topic string, n int) []stamp {
				t.Helper()
				from := len(seen[topic])
				for len(seen[topic]) < from+n {
					if e := p.next(); e.Ev == "message" {
						seen[e.Name] = append(seen[e.Name], stampOf(e))
					}
				}
				return seen[topic][from:]
			}
			// paired fails unless each of these times but the last is one of
			// camera_info: the peer's topics have a thread each.
			paired := func(what string, list []stamp) {
				t.Helper()
				for i, s := range list[:len(list)-1] {
					if !slices.Contains(seen[infos], s) {
						t.Errorf("%s %d of %v has no camera_info; there are %v", what, i, list, seen[infos])
						return
					}
				}
			}
			next(infos, 3) // who subscribes first is not known to the other topic yet
			paired("picture", next(images+"/compressed", 10)[1:])
			if x := topic(d.Status(), images); x.Matched || x.Frames > 0 {
				t.Errorf("without a subscriber: %+v", x)
			}
			subscribe(p, images, msg.TypeImage)
			next(images, 3)
			all := next(images, 15)[1:]
			paired("image", all)
			if name == "rate of one" {
				return
			}
			for _, s := range all[:len(all)-1] {
				if !slices.Contains(seen[images+"/compressed"], s) {
					t.Errorf("no compressed picture of the image at %v; there are %v", s, seen[images+"/compressed"])
				}
			}
		})
	}
}

// TestOtherTopics holds that an image that has a topic of its own has its
// siblings beside it.
func TestOtherTopics(t *testing.T) {
	file, _ := motion(t)
	p := startPeer(t)
	const eyes = "/eyes/left/image_raw"
	d := camd(t, p.endpoint, "front=replay:"+file+",@50,loop=true,streams.color.topic="+eyes)
	await(t, d, "all topics without a problem", func(st daemon.Status) bool {
		for _, name := range []string{eyes, "/eyes/left/camera_info", eyes + "/compressed", images + "/compressed", infos} {
			if x := topic(st, name); x.Topic == "" || x.Problem != "" {
				return false
			}
		}
		return true
	})
	for name, typ := range map[string]msg.Type{eyes: msg.TypeImage, "/eyes/left/camera_info": msg.TypeCameraInfo, eyes + "/compressed": msg.TypeCompressedImage} {
		subscribe(p, name, typ)
		received(p, name)
	}
}

// TestLatchedIsNotOld holds that who comes late gets no frame from before a time
// in which nobody subscribed, and nothing was decoded.
func TestLatchedIsNotOld(t *testing.T) {
	file, _ := motion(t)
	p := startPeer(t)
	d := camd(t, p.endpoint, "front=replay:"+file+",@50,loop=true,qos=transient_local")
	await(t, d, "the topic", func(st daemon.Status) bool { return topic(st, images).Topic != "" && st.Zenoh.State == "connected" })
	for round := range 3 {
		from := time.Now().UnixNano()
		s := reader(t, p, images)
		for i := range 3 {
			f := held(t, s)
			if wall := f.Meta().WallNanos; wall < from {
				t.Errorf("round %d: frame %d is of %v before somebody subscribed", round, i, time.Duration(from-wall))
			}
			f.Release()
		}
		_ = s.Close()
		await(t, d, "nobody subscribes and nothing is kept", func(st daemon.Status) bool {
			for _, x := range st.Streams {
				if x.Ring.Free != x.Ring.Slots {
					return false
				}
			}
			return !topic(st, images).Matched
		})
	}
}

// TestAnyHash has subscribers of Humble, which have no hash in their key, and of
// later releases receive each frame once.
func TestAnyHash(t *testing.T) {
	p := startPeer(t)
	d := camdIn(t, daemon.Network{Namespace: "/robot1", AnyHash: true}, p.endpoint, "front=pattern,64x48@50,encoding=rgb8")
	await(t, d, "the topic", func(st daemon.Status) bool { return topic(st, images).Topic != "" && st.Zenoh.State == "connected" })
	hashes := map[string]string{"humble": graph.HashNotSupported, "jazzy": msg.TypeImage.Hash}
	for name, hash := range hashes { // in one session nodes, in another one plain subscribers
		p.tell(command{
			"op": "subscriber", "name": name, "topic": images, "type": msg.TypeImage.Name, "definition": msg.TypeImage.Definition(),
			"node_name": name, "type_hash": hash,
		})
		p.tell(command{"op": "watch", "name": "watch " + name, "key": graph.TopicKey(0, images, msg.TypeImage.Name, hash)})
	}
	declared := 0
	stamps, numbers := map[string][]stamp{}, map[string]map[int64]int{}
	for len(stamps["humble"]) < 20 || len(stamps["jazzy"]) < 20 || declared < 4 {
		switch e := p.next(); e.Ev {
		case "declared":
			if declared++; declared == 4 {
				clear(stamps)
				clear(numbers)
			}
		case "message":
			stamps[e.Name] = append(stamps[e.Name], stampOf(e))
		case "sample":
			if numbers[e.GID] == nil {
				numbers[e.GID] = map[int64]int{}
			}
			numbers[e.GID][e.Sequence]++
		default:
			t.Fatalf("%+v", e)
		}
	}
	for name, list := range stamps {
		for i, s := range list[1:] {
			if s == list[i] {
				t.Errorf("%s got the image at %v twice", name, s)
			}
		}
	}
	skip := slices.Index(stamps["humble"], stamps["jazzy"][2]) - 2
	if skip < -2 {
		t.Fatalf("other images: %v and %v", stamps["humble"], stamps["jazzy"])
	}
	for i := 2; i < 15; i++ {
		if a, b := stamps["humble"][i+skip], stamps["jazzy"][i]; a != b {
			t.Errorf("image %d: %v and %v", i, a, b)
		}
	}
	if len(numbers) != 1 {
		t.Fatalf("publishers %v", numbers)
	}
	for gid, l := range numbers {
		first, last := slices.Min(keysOf(l)), slices.Max(keysOf(l))
		for n := first + 1; n < last; n++ {
			if l[n] != 2 { // one for each of the two
				t.Errorf("number %d of %s came %d times", n, gid, l[n])
			}
		}
	}
	e := p.endpoints(images)
	if len(e) != 1 || e[0][4] != msg.TypeImage.Hash {
		t.Errorf("it appears as %v", e)
	}
	s := reader(t, p, images)
	held(t, s).Release()
}

func keysOf(m map[int64]int) (out []int64) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// endpoints are the publishers of a topic that the peer lists. What comes
// meanwhile is passed over.
func (p *peer) endpoints(name string) (out [][]string) {
	p.t.Helper()
	p.tell(command{"op": "topic", "topic": name})
	for {
		if e := p.next(); e.Ev == "topic" {
			for _, x := range e.Endpoints {
				if x[0] == "MP" {
					out = append(out, x)
				}
			}
			return out
		}
	}
}
