// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func pipe(t *testing.T) (read, write int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(p[0]); _ = unix.Close(p[1]) })
	return p[0], p[1]
}

func TestEveryMessageCrosses(t *testing.T) {
	client, daemon := connected(t)
	for name, m := range goldenMessages() {
		t.Run(name, func(t *testing.T) {
			for _, way := range []struct{ from, to *Conn }{{client, daemon}, {daemon, client}} {
				if err := way.from.Send(m); err != nil {
					t.Fatal(err)
				}
				got, files, err := way.to.Receive(soon())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m, got); diff != "" || len(files) != 0 {
					t.Errorf("with %d descriptors (-sent +got):\n%s", len(files), diff)
				}
			}
		})
	}
}

func TestDescriptorsCross(t *testing.T) {
	client, daemon := connected(t)
	read, write := pipe(t)
	before := openFiles(t)
	for _, name := range []string{"offer", "start", "reconfig"} {
		if err := daemon.Send(goldenMessages()[name], write, read, write, read); err != nil {
			t.Fatal(err)
		}
		_, files, err := client.Receive(soon())
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != MaxFiles {
			t.Fatalf("%s came with %d descriptors", name, len(files))
		}
		for _, fd := range files {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s: descriptor %d is not close-on-exec: %v %v", name, fd, flags, err)
			}
		}
		// The first is the pipe's write end and now this test's own.
		own := files.Take(0)
		if again := files.Take(0); again != -1 {
			t.Errorf("descriptor %d was taken twice", again)
		}
		if err := errors.Join(files.Close(), files.Close()); err != nil {
			t.Error(err)
		}
		if _, err := unix.Write(own, []byte(name)); err != nil {
			t.Error(err)
		}
		got := make([]byte, 16)
		if n, err := unix.Read(read, got); err != nil || string(got[:n]) != name {
			t.Errorf("pipe gave %q, %v", got[:n], err)
		}
		_ = unix.Close(own)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestTakeWhatIsNotThere(t *testing.T) {
	for _, f := range []Files{nil, {}, {-1}} {
		for _, i := range []int{-1, 0, 1} {
			if fd := f.Take(i); fd != -1 {
				t.Errorf("%v gave %d", f, fd)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whatever comes in: the right condition, and no descriptor stays.
func TestHostilePackets(t *testing.T) {
	offer, err := encode(goldenMessages()["offer"])
	if err != nil {
		t.Fatal(err)
	}
	filled := func(n int) string {
		s := `{"type":"bye","x":""}`
		return s[:len(s)-2] + strings.Repeat("x", n-len(s)) + s[len(s)-2:]
	}
	toClient, toDaemon := clientSide, daemonSide
	for _, c := range []struct {
		name   string
		to     side
		packet string
		files  int
		want   error // nil: the packet is fine
		words  string
	}{
		{"garbage", toDaemon, "\x00\x01garbage", 0, ErrProtocol, "JSON"},
		{"cut off", toDaemon, string(offer[:40]), 0, ErrProtocol, "JSON"},
		{"empty", toDaemon, "", 0, ErrProtocol, "empty packet"},
		{"empty with descriptors", toClient, "", 3, ErrProtocol, "empty packet"},
		{"empty with too many", toClient, "", 5, ErrProtocol, "more than 4"},
		{"as large as allowed", toDaemon, filled(MaxRequest), 0, nil, ""},
		{"one byte too large", toDaemon, filled(MaxRequest + 1), 0, ErrProtocol, "more than 8192"},
		{"huge", toDaemon, filled(150 << 10), 0, ErrProtocol, "more than 8192"},
		{"as large as allowed for a client", toClient, filled(MaxPacket), 0, nil, ""},
		{"one byte too large for a client", toClient, filled(MaxPacket + 1), 0, ErrProtocol, "more than 65536"},
		{"huge with descriptors", toClient, filled(150 << 10), 4, ErrProtocol, "more than 65536"},
		{"garbage with descriptors", toClient, "[", 4, ErrProtocol, "JSON"},
		{"a descriptor for the daemon", toDaemon, string(kickPacket), 1, ErrProtocol, "none are allowed"},
		{"hundreds for the daemon", toDaemon, string(kickPacket), 253, ErrProtocol, "none are allowed"},
		{"as many as allowed", toClient, string(offer), 4, nil, ""},
		{"one too many", toClient, string(offer), 5, ErrProtocol, "more than 4"},
		{"200", toClient, string(offer), 200, ErrProtocol, "more than 4"},
		{"as many as the kernel carries", toClient, string(offer), 253, ErrProtocol, "more than 4"},
		{"descriptors where none belong", toClient, string(kickPacket), 2, nil, ""},
		{"descriptors on a later type", toClient, `{"type":"zoom"}`, 4, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, conn := hostile(t, c.to)
			read, _ := pipe(t)
			before := openFiles(t)
			files := make([]int, c.files)
			for i := range files {
				files[i] = read
			}
			for range 3 { // each again: nothing may pile up
				sendBare(t, bare, c.packet, files...)
				m, got, err := conn.Receive(soon())
				if c.want == nil {
					if err != nil || m == nil {
						t.Fatalf("got %v, %v", m, err)
					}
					if len(got) != 0 && m.Type != TypeOffer {
						t.Errorf("%s came with %d descriptors", m.Type, len(got))
					}
					if err := got.Close(); err != nil {
						t.Error(err)
					}
				} else if m != nil || got != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
					t.Fatalf("got %v, %v, %v; want %v with %q", m, got, err, c.want, c.words)
				}
			}
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

func TestNoDescriptorFree(t *testing.T) {
	client, daemon := connected(t)
	read, _ := pipe(t)
	release := exhaustFiles(t)
	if err := daemon.Send(goldenMessages()["offer"], read, read); err != nil {
		t.Fatal(err)
	}
	_, files, err := client.Receive(soon())
	if !errors.Is(err, ErrOpenFiles) || !errors.Is(err, unix.EMFILE) || errors.Is(err, ErrProtocol) || len(files) != 0 {
		t.Errorf("got %v, %v; want ErrOpenFiles, which is no fault of the daemon", files, err)
	}
	release()
}

func TestEndOfPeer(t *testing.T) {
	client, daemon := connected(t)
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := daemon.Receive(soon())
	if !errors.Is(err, io.EOF) || !errors.Is(err, ErrPeerGone) {
		t.Errorf("Receive: %v, want io.EOF and ErrPeerGone", err)
	}
	if err := daemon.Send(goldenMessages()["bye"]); !errors.Is(err, ErrPeerGone) {
		t.Errorf("Send: %v, want ErrPeerGone", err)
	}
	if err := daemon.SendKick(); !errors.Is(err, ErrPeerGone) {
		t.Errorf("SendKick: %v, want ErrPeerGone", err)
	}
}

// A daemon that says why and closes, without reading what the client sent
// meanwhile: the kernel reports a reset before the packets.
func TestLastWordsArrive(t *testing.T) {
	client, daemon := connected(t)
	for range 3 {
		if err := client.SendKick(); err != nil {
			t.Fatal(err)
		}
	}
	if err := daemon.Send(goldenMessages()["reject"]); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Close(); err != nil {
		t.Fatal(err)
	}
	m, _, err := client.Receive(soon())
	if err != nil || m.Type != TypeReject {
		t.Fatalf("got %v, %v; want the reject", m, err)
	}
	if _, _, err := client.Receive(soon()); !errors.Is(err, io.EOF) {
		t.Errorf("after it: %v, want io.EOF", err)
	}
}

func TestPeerThatNeverReads(t *testing.T) {
	for _, name := range []string{"daemon sends", "client sends"} {
		t.Run(name, func(t *testing.T) {
			from, to := connected(t)
			if name == "daemon sends" {
				from, to = to, from
			}
			from.WriteTimeout = 20 * time.Millisecond
			var err error
			sent := 0
			for ; err == nil && sent < 1e6; sent++ {
				err = from.Send(goldenMessages()["streams"])
			}
			if !errors.Is(err, ErrNotReading) {
				t.Fatalf("after %d messages: %v, want ErrNotReading", sent, err)
			}
			// A kick has nothing to add to a full queue, and must not wait.
			if err := from.SendKick(); err != nil {
				t.Errorf("SendKick: %v", err)
			}
			// What was sent is whole.
			for range sent - 1 {
				if m, _, err := to.Receive(soon()); err != nil || m.Type != TypeStreams {
					t.Fatalf("got %v, %v", m, err)
				}
			}
			if err := from.Send(goldenMessages()["bye"]); err != nil {
				t.Errorf("after the queue was read: %v", err)
			}
		})
	}
}

func TestReceiveDeadline(t *testing.T) {
	client, daemon := connected(t)
	for _, d := range []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Millisecond)} {
		if _, _, err := daemon.Receive(d); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want a deadline error", err)
		}
	}
	if err := client.SendKick(); err != nil {
		t.Fatal(err)
	}
	if m, _, err := daemon.Receive(time.Time{}); err != nil || m.Type != TypeKick {
		t.Errorf("after it: %v, %v", m, err)
	}
}

// A daemon that is stopped is told from what else can be late.
func TestSilentDaemon(t *testing.T) {
	client, _ := connected(t)
	_, _, err := client.Receive(time.Now().Add(-time.Hour))
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, ErrSocketUnreachable) || err.Error() != "camd does not answer" {
		t.Errorf("got %q, want a deadline error of a daemon that does not answer", err)
	}
}

func TestCloseEndsAll(t *testing.T) {
	client, _ := connected(t)
	before := openFiles(t)
	client.WriteTimeout = time.Hour
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, _, err := client.Receive(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Receive: %v", err)
		}
	})
	wg.Go(func() {
		for {
			if err := client.Send(goldenMessages()["streams"]); err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Send: %v", err)
				}
				return
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			if err := client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	if err := client.SendKick(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("SendKick: %v", err)
	}
	if client.PeerExited() {
		t.Error("this process is said to have exited")
	}
	// The socket, and the peer's pidfd where the kernel has it.
	if after := openFiles(t); after != before-1 && after != before-2 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestManySenders(t *testing.T) {
	client, daemon := connected(t)
	const senders, each = 4, 50
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for range each {
				if err := client.Send(validHello()); err != nil {
					t.Error(err)
				}
				if err := client.SendKick(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	hellos, kicks := 0, 0
	for hellos < senders*each {
		m, _, err := daemon.Receive(soon())
		if err != nil {
			t.Fatal(err)
		}
		switch m.Type {
		case TypeHello:
			hellos++
		case TypeKick:
			kicks++
		default:
			t.Fatalf("got %q", m.Type)
		}
	}
	wg.Wait()
	if kicks == 0 {
		t.Error("no kick arrived")
	}
}

func TestKickAllocatesNothing(t *testing.T) {
	client, daemon := connected(t)
	if n := testing.AllocsPerRun(200, func() {
		if err := client.SendKick(); err != nil {
			t.Fatal(err)
		}
		if m, _, err := daemon.Receive(soon()); err != nil || m != kickMessage {
			t.Fatal(m, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a kick, sent and received", n)
	}
}

func TestSendRefuses(t *testing.T) {
	client, daemon := connected(t)
	read, _ := pipe(t)
	if err := daemon.Send(goldenMessages()["offer"], read, read, read, read, read); !errors.Is(err, ErrMessage) {
		t.Errorf("five descriptors: %v", err)
	}
	if err := daemon.Send(&Message{Type: TypeHello}); !errors.Is(err, ErrMessage) {
		t.Errorf("no member: %v", err)
	}
	if err := daemon.Send(goldenMessages()["offer"], -1); !errors.Is(err, unix.EBADF) {
		t.Errorf("closed descriptor: %v", err)
	}
	if err := daemon.Send(goldenMessages()["bye"]); err != nil {
		t.Fatal(err)
	}
	if m, _, err := client.Receive(soon()); err != nil || m.Type != TypeBye {
		t.Errorf("the connection suffered: %v, %v", m, err)
	}
}

func TestPeerIdentity(t *testing.T) {
	client, daemon := connected(t)
	for name, c := range map[string]*Conn{"client": client, "daemon": daemon} {
		p := c.Peer()
		if p.PID != os.Getpid() || p.UID != os.Geteuid() || p.GID != os.Getegid() {
			t.Errorf("%s sees %+v", name, p)
		}
		if c.PeerExited() {
			t.Errorf("%s: this process is said to have exited", name)
		}
	}
}

func TestKilledPeer(t *testing.T) {
	l := listening(t)
	before := openFiles(t)
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			o := startOther(t, "connect", l.Dir(), 0)
			c := accept(t, l)
			if m, _, err := c.Receive(soon()); err != nil || m.Type != TypeHello {
				t.Fatalf("got %v, %v", m, err)
			}
			if got := c.Peer().PID; got != o.Process.Pid || c.PeerExited() {
				t.Errorf("peer %d, exited %v; want %d, alive", got, c.PeerExited(), o.Process.Pid)
			}
			o.kill(t)
			if _, _, err := c.Receive(soon()); !errors.Is(err, io.EOF) {
				t.Errorf("after the kill: %v, want io.EOF", err)
			}
			if !c.PeerExited() {
				t.Error("the killed process is said to live")
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// The socket outlives the process that subscribed: only the pidfd tells.
func TestPeerThatLeftItsSocketToAChild(t *testing.T) {
	l := listening(t)
	o := startOther(t, "leave", l.Dir(), 0)
	c := accept(t, l)
	if state, err := o.Process.Wait(); err != nil || !state.Success() {
		t.Fatalf("the other process: %v, %v", state, err)
	}
	if !c.PeerExited() {
		t.Error("the process that connected is said to live")
	}
	if _, _, err := c.Receive(time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("while the child holds the socket: %v, want a deadline error", err)
	}
	if err := o.end.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Receive(soon()); !errors.Is(err, ErrPeerGone) {
		t.Errorf("after the child's end: %v, want ErrPeerGone", err)
	}
}
