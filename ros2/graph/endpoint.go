// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

// byteArrays are the common messages with an unbounded uint8[] of their own,
// not only inside another message: those that Lyrical and later send through
// buffer backends.
var byteArrays = map[string]bool{
	"sensor_msgs/msg/Image":                            true,
	"sensor_msgs/msg/CompressedImage":                  true,
	"sensor_msgs/msg/PointCloud2":                      true,
	"std_msgs/msg/UInt8MultiArray":                     true,
	"foxglove_msgs/msg/CompressedImage":                true,
	"foxglove_msgs/msg/CompressedVideo":                true,
	"foxglove_msgs/msg/RawImage":                       true,
	"foxglove_msgs/msg/PointCloud":                     true,
	"ffmpeg_image_transport_msgs/msg/FFMPEGPacket":     true,
	"theora_image_transport/msg/Packet":                true,
	"point_cloud_interfaces/msg/CompressedPointCloud2": true,
}

// HasByteArray reports whether publishers of Lyrical and later send the type
// through buffer backends. Of types that this package does not know it says no.
func HasByteArray(typeName string) bool { return byteArrays[typeName] }

// NewNode returns a node, to be declared by its token before the endpoints'.
// namespace may be "".
func NewNode(domain int, zid string, id uint64, namespace, name string) Entity {
	return Entity{Domain: domain, ZID: zid, NodeID: id, ID: id, Kind: KindNode, Namespace: namespace, Node: name}
}

// endpoint returns one of the node's.
func (e Entity) endpoint(kind Kind, id uint64, topic, typeName, hash string, q QoS) Entity {
	e.Kind, e.ID, e.Topic, e.Type, e.Hash, e.QoS = kind, id, topic, typeName, hash, q.Resolved()
	return e
}

// Publisher returns a publisher of the node e: declare its Token, and put on
// its Key with an [Attachment] of its GID. It announces no buffer backend, so
// that subscribers of all releases listen to that one key.
func (e Entity) Publisher(id uint64, topic, typeName, hash string, q QoS) Entity {
	return e.endpoint(KindPublisher, id, topic, typeName, hash, q)
}

// Subscriber returns a subscriber of the node e: subscribe to all of
// [Entity.ListenKeys], then declare its Token. Where Lyrical has buffer
// backends it announces cpu, since a publisher of Lyrical leaves out a
// subscriber that announces nothing.
func (e Entity) Subscriber(id uint64, topic, typeName, hash string, q QoS) Entity {
	e = e.endpoint(KindSubscriber, id, topic, typeName, hash, q)
	if HasByteArray(typeName) && e.QoS.Durability == Volatile {
		e.Backends = BackendsCPU
	}
	return e
}

// ListenKeys returns the keys on which a subscriber receives. A message comes
// on one of them only: on the topic's own from publishers that do not know
// buffer backends, or find a subscriber that does not, else on the second.
func (e Entity) ListenKeys() []string {
	key := e.Key()
	switch e.Backends {
	case "":
		return []string{key}
	case BackendsCPU:
		return []string{key, CPUKey(key)}
	}
	return []string{key, BufferKey(key, e.GID())}
}
