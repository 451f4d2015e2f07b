// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package graph speaks the graph side of the ROS 2 middleware rmw_zenoh_cpp:
// names, the Zenoh keys of topics, the liveliness tokens that nodes, publishers
// and subscribers declare, their QoS text and GIDs, the attachment of each
// sample, and a cache of who is there.
//
// It knows the dialect of rmw_zenoh_cpp from Humble to Rolling only, not that
// of the DDS bridges, and opens no session: strings and bytes go in and out.
package graph
