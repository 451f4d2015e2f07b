// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package msg

import "github.com/seed-3c7e7623/camd/ros2/cdr"

// Levels of a [DiagnosticStatus].
const (
	DiagnosticOK    = 0
	DiagnosticWarn  = 1
	DiagnosticError = 2
	DiagnosticStale = 3
)

// KeyValue is diagnostic_msgs/msg/KeyValue.
type KeyValue struct {
	Key, Value string
}

// DiagnosticStatus is diagnostic_msgs/msg/DiagnosticStatus: how one part is.
type DiagnosticStatus struct {
	Level      byte // DiagnosticOK, …
	Name       string
	Message    string
	HardwareID string
	Values     []KeyValue
}

// DiagnosticArray is diagnostic_msgs/msg/DiagnosticArray.
type DiagnosticArray struct {
	Header Header
	Status []DiagnosticStatus
}

// The least that the elements take: empty strings, and the gaps between them.
const (
	keyValueLen   = 8 + 5
	diagnosticLen = 4 + 3*8 + 4
)

func (m *DiagnosticStatus) write(w *cdr.Writer) {
	w.Uint8(m.Level)
	w.String(m.Name)
	w.String(m.Message)
	w.String(m.HardwareID)
	w.Len(len(m.Values))
	for i := range m.Values {
		w.String(m.Values[i].Key)
		w.String(m.Values[i].Value)
	}
}

func (m *DiagnosticStatus) read(r *cdr.Reader) {
	m.Level = r.Uint8()
	r.StringInto(&m.Name)
	r.StringInto(&m.Message)
	r.StringInto(&m.HardwareID)
	m.Values = resize(m.Values, r.Len(keyValueLen))
	for i := range m.Values {
		r.StringInto(&m.Values[i].Key)
		r.StringInto(&m.Values[i].Value)
	}
}

// AppendCDR appends the message to b.
func (m *DiagnosticStatus) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.write(&w)
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *DiagnosticStatus) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.read(&r)
	return r.End()
}

// AppendCDR appends the message to b.
func (m *DiagnosticArray) AppendCDR(b []byte) []byte {
	w := cdr.NewWriter(b)
	m.Header.write(&w)
	w.Len(len(m.Status))
	for i := range m.Status {
		m.Status[i].write(&w)
	}
	return w.Buf
}

// DecodeCDR reads the message from b.
func (m *DiagnosticArray) DecodeCDR(b []byte) error {
	r := cdr.NewReader(b)
	m.Header.read(&r)
	m.Status = resize(m.Status, r.Len(diagnosticLen))
	for i := range m.Status {
		m.Status[i].read(&r)
	}
	return r.End()
}
