// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

// Reason is why a backend was not taken or a request was refused: a stable
// word that scripts may compare. Texts beside it are for people.
type Reason string

// The reasons.
const (
	ReasonNoDriver          Reason = "no_driver"
	ReasonDriverMismatch    Reason = "driver_mismatch"
	ReasonDifferentHost     Reason = "different_host"
	ReasonDifferentGPU      Reason = "different_gpu"
	ReasonNoP2P             Reason = "no_p2p"
	ReasonPIDNamespace      Reason = "pid_namespace"
	ReasonSameProcess       Reason = "same_process"
	ReasonLegacyUnsupported Reason = "legacy_unsupported"
	ReasonVMMUnsupported    Reason = "vmm_unsupported"
	ReasonEventUnsupported  Reason = "event_unsupported"
	ReasonPolicy            Reason = "policy"
	ReasonRingFull          Reason = "ring_full"
	ReasonProbeTimeout      Reason = "probe_timeout"
	ReasonProbeMismatch     Reason = "probe_mismatch"
	ReasonGPULost           Reason = "gpu_lost"
	ReasonGPUError          Reason = "gpu_error"   // a call of the driver failed, which may not be for good
	ReasonGPUTimeout        Reason = "gpu_timeout" // a call of the driver has not come back in time
	ReasonSocketUnreachable Reason = "socket_unreachable"
	ReasonPermissionDenied  Reason = "permission_denied"
	ReasonBuiltWithoutDL    Reason = "built_without_dl"
	ReasonOverZenoh         Reason = "over_zenoh"         // nothing is served here: subscribe to the topic in the detail
	ReasonRouterUnreachable Reason = "router_unreachable" // no Zenoh router is connected

	ReasonNotAccepted   Reason = "not_accepted"   // the client did not list the backend
	ReasonNotOffered    Reason = "not_offered"    // the daemon has no such backend
	ReasonUnknownStream Reason = "unknown_stream" // no camera or stream of that name
	ReasonNotReady      Reason = "not_ready"      // the camera has not delivered a format yet
	ReasonProtocol      Reason = "protocol"       // malformed, out of order, or another major version
	ReasonLimit         Reason = "limit"          // too many connections of this user
	ReasonQuarantined   Reason = "quarantined"    // an evicted reader of the same process still holds memory
	ReasonTooSlow       Reason = "held_too_long"  // evicted: sat on a slot while it was needed
	ReasonMisbehaved    Reason = "misbehaved"     // evicted: wrote nonsense into its page
	ReasonNotReading    Reason = "not_reading"    // cut off: does not read its socket
	ReasonShutdown      Reason = "shutdown"
)
