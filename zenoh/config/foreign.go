// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// unsupported are the keys of Zenoh's that have no effect here, or all below
// them, with the reason.
var unsupported = map[string]string{
	"transport/shared_memory":                     "Zenoh's shared memory is made by its Rust allocator and its layout changes between releases; payloads go out as bytes, and readers on this host use camd's own shared memory",
	"transport/multicast":                         "clients have no multicast transport",
	"transport/unicast/lowlatency":                "not offered; it excludes priorities",
	"transport/unicast/compression":               "not offered",
	"transport/unicast/accept_timeout":            "nothing is accepted",
	"transport/unicast/accept_pending":            "nothing is accepted",
	"transport/unicast/max_sessions":              "a client has one",
	"transport/unicast/max_links":                 "a client has one",
	"transport/link/tx/threads":                   "one goroutine writes",
	"transport/link/tx/queue/allocation":          "queues grow as needed",
	"transport/link/tx/queue/batching/time_limit": "a batch leaves when the link is free; to hold it see batching/flush_period",
	"transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments": "a message that is being sent is sent whole",
	"transport/link/tcp":                           "the operating system sizes the buffers",
	"transport/link/unixpipe":                      "not built in",
	"transport/link/quic":                          "not built in",
	"transport/link/udp":                           "not built in",
	"transport/link/tls/listen_private_key":        "nothing is accepted",
	"transport/link/tls/listen_certificate":        "nothing is accepted",
	"transport/link/tls/listen_private_key_base64": "nothing is accepted",
	"transport/link/tls/listen_certificate_base64": "nothing is accepted",
	"transport/link/tls/close_link_on_expiration":  "not built in",
	"transport/link/tls/so_sndbuf":                 "the operating system sizes the buffers",
	"transport/link/tls/so_rcvbuf":                 "the operating system sizes the buffers",
	"transport/auth/pubkey":                        "not built in",
	"transport/auth/usrpwd/dictionary_file":        "nothing is accepted",
	"listen":                                       "clients do not listen",
	"open":                                         "of peers",
	"scouting":                                     "nodes are not looked for: name them in connect/endpoints",
	"routing":                                      "of routers and peers",
	"timestamping/drop_future_timestamp":           "of routers",
	"aggregation":                                  "not built in",
	"downsampling":                                 "not built in",
	"low_pass_filter":                              "not built in",
	"access_control":                               "not built in",
	"qos/network":                                  "not built in; see qos/publication",
	"adminspace":                                   "not built in",
	"plugins":                                      "not built in",
	"plugins_loading":                              "not built in",
	"plugins_search_dirs":                          "not built in",
	"metadata":                                     "not built in",
	"namespace":                                    "not built in",
	"region_name":                                  "not built in",
	"gateway":                                      "of routers",
	"stats":                                        "not built in",
}

// older are spellings of earlier releases that public examples still have.
var older = map[string]string{
	"peers":                                                       "connect/endpoints",
	"listeners":                                                   "listen/endpoints",
	"startup/mode":                                                "mode",
	"add_timestamp":                                               "timestamping/enabled",
	"transport/qos/enabled":                                       "transport/unicast/qos/enabled",
	"transport/unicast/qos":                                       "transport/unicast/qos/enabled",
	"transport/link/tls/client_auth":                              "transport/link/tls/enable_mtls",
	"transport/link/tls/client_private_key":                       "transport/link/tls/connect_private_key",
	"transport/link/tls/client_certificate":                       "transport/link/tls/connect_certificate",
	"transport/link/tls/server_private_key":                       "transport/link/tls/listen_private_key",
	"transport/link/tls/server_certificate":                       "transport/link/tls/listen_certificate",
	"transport/link/tls/server_name_verification":                 "transport/link/tls/verify_name_on_connect",
	"transport/link/rx/buff_size":                                 "transport/link/rx/buffer_size",
	"transport/link/tx/queue/backoff":                             "transport/link/tx/queue/batching/time_limit",
	"transport/link/tx/queue/congestion_control/wait_before_drop": "transport/link/tx/queue/congestion_control/drop/wait_before_drop",
	"transport/link/compression":                                  "transport/unicast/compression",
	"transport/shm":                                               "transport/shared_memory",
}

// unsupportedReason finds the reason for key or for what it lies under.
func unsupportedReason(key string) (string, bool) {
	for k := key; k != ""; {
		if why, ok := unsupported[k]; ok {
			return why, true
		}
		i := strings.LastIndexByte(k, '/')
		if i < 0 {
			break
		}
		k = k[:i]
	}
	return "", false
}

// harmless says whether v asks for what happens anyway: nothing.
func harmless(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		if on, ok := v["enabled"]; ok {
			return on == false
		}
		for _, below := range v {
			if !harmless(below) {
				return false
			}
		}
		return true
	}
	return false
}

// scouted finds settings of scouting that public examples have and that never
// meant what they seem to say.
func (c *Config) scouted(key string, v any, source func(string) string) {
	tree, ok := v.(map[string]any)
	if !ok {
		return
	}
	for k, below := range tree {
		name := key + "/" + k
		if k != "autoconnect" {
			c.scouted(name, below, source)
			continue
		}
		for role, to := range roles(below) {
			if text, ok := to.(string); ok && text != "" {
				c.note(name, source(name), fmt.Sprintf("%s: %q is no list of roles, which Zenoh wants since 1.0 (for example [\"router\"]); it has no effect: nodes are not looked for", role, text))
			} else if _, ok := to.(bool); ok {
				c.note(name, source(name), fmt.Sprintf("%s: %v is no list of roles, which Zenoh wants (for example [\"router\"]); it has no effect: nodes are not looked for", role, to))
			}
		}
	}
}

// roles is the value for each role, or for any.
func roles(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{"any role": v}
}

// nearest is the known key that is most like key.
func nearest(key string) string {
	best, least := "", 1<<30
	for _, s := range settings() {
		if d := distance(key, s.key); d < least {
			best, least = s.key, d
		}
	}
	return best
}

// distance counts the single edits from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(diagonal+cost, row[j]+1, row[j+1]+1)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
