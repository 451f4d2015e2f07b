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
	"transport/multicast":                         "not built in",
	"transport/unicast/lowlatency":                "not offered; it excludes priorities",
	"transport/unicast/compression":               "not offered",
	"transport/unicast/max_links":                 "there is one with each node",
	"transport/link/tx/threads":                   "one goroutine writes",
	"transport/link/tx/queue/allocation":          "queues grow as needed",
	"transport/link/tx/queue/batching/time_limit": "a batch leaves when the link is free; to hold it see batching/flush_period",
	"transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments": "a message that is being sent is sent whole",
	"transport/link/tcp":                          "the operating system sizes the buffers",
	"transport/link/unixpipe":                     "not built in",
	"transport/link/quic":                         "not built in",
	"transport/link/udp":                          "not built in",
	"transport/link/tls/close_link_on_expiration": "not built in",
	"transport/link/tls/so_sndbuf":                "the operating system sizes the buffers",
	"transport/link/tls/so_rcvbuf":                "the operating system sizes the buffers",
	"transport/auth/pubkey":                       "not built in",
	"listen/timeout_ms":                           "listening is tried once",
	"listen/retry":                                "listening is tried once",
	"scouting/gossip/multihop":                    "a peer tells of its neighbours, not of theirs",
	"routing":                                     "of routers and peers",
	"timestamping/drop_future_timestamp":          "of routers",
	"aggregation":                                 "not built in",
	"downsampling":                                "not built in",
	"low_pass_filter":                             "not built in",
	"access_control":                              "not built in",
	"qos/network":                                 "not built in; see qos/publication",
	"adminspace":                                  "not built in",
	"plugins":                                     "not built in",
	"plugins_loading":                             "not built in",
	"plugins_search_dirs":                         "not built in",
	"metadata":                                    "not built in",
	"namespace":                                   "not built in",
	"region_name":                                 "not built in",
	"gateway":                                     "of routers",
	"stats":                                       "not built in",
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

// olderRoles says whether v is a form of autoconnect that public examples have and
// that is no list of roles.
func (c *Config) olderRoles(key string, v any, source func(string) string) bool {
	if !strings.HasSuffix(key, "/autoconnect") {
		return false
	}
	each, modal := modes(v)
	if !modal {
		each = map[string]any{"any mode": v}
	}
	for mode, to := range each {
		text, is := to.(string)
		_, err := roleList(to, roleNames...)
		if _, flag := to.(bool); flag || is && err != nil {
			if !is {
				text = fmt.Sprint(to)
			}
			c.note(key, source(key), fmt.Sprintf("%s: %q is no list of roles, which Zenoh wants since 1.0 (for example [\"router\"]); it has no effect", mode, text))
			return true
		}
	}
	return false
}

// didYouMean returns "; did you mean X?" where a known key, or one that holds
// others, is so like key that it may be meant; else "".
func didYouMean(key string) string {
	best, least := "", 2+len(key)/4
	for _, s := range settings() {
		for known := s.key; ; {
			if d := distance(key, known); d < least {
				best, least = known, d
			}
			i := strings.LastIndexByte(known, '/')
			if i < 0 {
				break
			}
			known = known[:i]
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
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
