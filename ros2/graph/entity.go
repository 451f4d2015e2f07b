// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a token stands for.
type Kind uint8

// The kinds.
const (
	KindNode Kind = iota + 1
	KindPublisher
	KindSubscriber
	KindServer // of a service
	KindClient // of a service
)

var kinds = [...]string{KindNode: "NN", KindPublisher: "MP", KindSubscriber: "MS", KindServer: "SS", KindClient: "SC"}

// String returns the two letters that tokens hold, such as "MP".
func (k Kind) String() string {
	if int(k) >= len(kinds) || k == 0 {
		return "Kind(" + strconv.Itoa(int(k)) + ")"
	}
	return kinds[k]
}

// Entity is a node, or a publisher, subscriber, server or client of one.
type Entity struct {
	Domain int
	ZID    string // of the Zenoh session, as Zenoh prints it
	NodeID uint64 // of the node in its session
	ID     uint64 // of the entity in its session; of a node the same as NodeID
	Kind   Kind

	Enclave   string // "" and "/": none
	Namespace string // "" and "/": none
	Node      string

	// Of all but nodes.
	Topic string // fully qualified, or the name of a service
	Type  string // sensor_msgs/msg/Image
	Hash  string // RIHS01_…; "": [HashNotSupported]
	QoS   QoS

	// Backends lists the buffer backends as [FormatBackends] writes them, or
	// is [BackendsCPU]. "": the entity says nothing about them.
	Backends string
}

const (
	admin          = "@ros2_lv"
	backendsPrefix = "backends:"
)

// TokenPattern returns the key expression that all tokens of a domain match.
func TokenPattern(domain int) string { return admin + "/" + strconv.Itoa(domain) + "/**" }

// Token returns the liveliness token, in the form whose hash is the GID.
func (e Entity) Token() string {
	b := make([]byte, 0, 320)
	b = append(b, admin+"/"...)
	b = strconv.AppendInt(b, int64(e.Domain), 10)
	b = append(append(b, '/'), e.ZID...)
	b = strconv.AppendUint(append(b, '/'), e.NodeID, 10)
	b = strconv.AppendUint(append(b, '/'), e.ID, 10)
	for _, s := range []string{e.Kind.String(), Mangle(e.Enclave), Mangle(e.Namespace), e.Node} {
		b = append(append(b, '/'), s...)
	}
	if e.Kind == KindNode {
		return string(b)
	}
	for _, s := range []string{Mangle(e.Topic), WireType(e.Type), e.hash(), e.QoS.String()} {
		b = append(append(b, '/'), s...)
	}
	if e.Backends != "" {
		b = append(append(b, "/"+backendsPrefix...), e.Backends...)
	}
	return string(b)
}

// GID returns the hash of the token.
func (e Entity) GID() GID { return HashToken(e.Token()) }

// Key returns the key of the entity's topic or service.
func (e Entity) Key() string { return TopicKey(e.Domain, e.Topic, e.Type, e.Hash) }

// FullNode returns the node's name with its namespace, such as /robot/camera.
func (e Entity) FullNode() string { return Join(e.Namespace, e.Node) }

func (e Entity) hash() string {
	if e.Hash == "" {
		return HashNotSupported
	}
	return e.Hash
}

// Validate fails with [ErrName], [ErrType], [ErrKind] or [ErrNumber] if others
// would not take the token or show nonsense.
func (e Entity) Validate() error {
	if e.Domain < 0 || !zid(e.ZID) {
		return fmt.Errorf("%w: domain %d, session %.40q", ErrNumber, e.Domain, e.ZID)
	}
	if e.Kind == 0 || int(e.Kind) >= len(kinds) {
		return fmt.Errorf("%w: %v", ErrKind, e.Kind)
	}
	if e.Namespace != "" {
		if err := ValidateNamespace(e.Namespace); err != nil {
			return err
		}
	}
	if strings.Contains(e.Enclave, "%") || !printable(e.Enclave) {
		return fmt.Errorf("%w: enclave %.100q", ErrName, e.Enclave)
	}
	if err := ValidateNode(e.Node); err != nil || e.Kind == KindNode {
		return err
	}
	if err := ValidateTopic(e.Topic); err != nil {
		return err
	}
	if err := ValidateType(e.Type); err != nil {
		return err
	}
	if strings.Contains(e.hash(), "/") || !printable(e.hash()) {
		return fmt.Errorf("%w: hash %.100q", ErrType, e.Hash)
	}
	_, err := ParseBackends(e.Backends)
	return err
}

// zid reports whether s is a session's id: up to 16 bytes in lower-case
// hexadecimal.
func zid(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}
