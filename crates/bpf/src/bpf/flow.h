// SPDX-License-Identifier: MIT OR GPL-2.0
// The flow of a packet: its exact five-tuple. The socket's hash would not do, since it changes when a sender times out.
#pragma once

#include "red.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_PROVIDER_VLAN 0x88a8
#define ETHERTYPE_IPV6 0x86dd

#define MOST_TAGS 2
#define MOST_EXTENSIONS 6

enum { HOP_BY_HOP = 0, TCP = 6, UDP = 17, DCCP = 33, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60, SCTP = 132, UDP_LITE = 136 };

struct ipv4 {
	__u8 version_length, tos;
	__be16 length, identification, fragment;
	__u8 ttl, protocol;
	__be16 checksum;
	__be32 source, destination;
};

struct ipv6 {
	__u8 version_class, class_label;
	__be16 label, length;
	__u8 next, hops;
	__be64 source[2], destination[2];
} __attribute__((packed));

struct reader {
	struct bpf_dynptr packet;
	__u64 at; // first the network header, then what is read next
	__u64 ip_at; // the IP header, behind any tags
	__be16 type; // what is there
};

// Returns the distance of the network header from the first byte.
static __always_inline __u64 network_offset(struct sk_buff *skb)
{
	return (__u64)skb->head + skb->network_header - (__u64)skb->data;
}

static __always_inline bool has_ports(__u8 protocol)
{
	return protocol == TCP || protocol == UDP || protocol == SCTP || protocol == DCCP || protocol == UDP_LITE;
}

// Adds the ports behind the IP header, where the protocol has any.
static __always_inline void read_ports(struct reader *reader, __u8 protocol, struct flow *flow)
{
	__u32 buffer, *ports;

	flow->words[0] |= (__u64)protocol << 32;
	if (!has_ports(protocol))
		return;
	ports = bpf_dynptr_slice(&reader->packet, reader->at, &buffer, sizeof(buffer));
	if (ports)
		flow->words[0] |= *ports;
}

// All fragments between two hosts with the same protocol are one flow, first ones too: later ones have no ports.
static __always_inline void read_ipv4(struct reader *reader, struct arrival *arrival)
{
	struct ipv4 buffer, *ip = bpf_dynptr_slice(&reader->packet, reader->at, &buffer, sizeof(buffer));

	if (!ip)
		return;
	arrival->ecn_capable = ip->tos & 3;
	arrival->flow.words[1] = (__u64)ip->source << 32 | ip->destination;
	reader->at += (ip->version_length & 15) * 4;
	if (ip->fragment & bpf_htons(0x3fff))
		arrival->flow.words[0] |= (__u64)ip->protocol << 32;
	else
		read_ports(reader, ip->protocol, &arrival->flow);
}

static __always_inline void read_ipv6(struct reader *reader, struct arrival *arrival)
{
	struct ipv6 buffer, *ip = bpf_dynptr_slice(&reader->packet, reader->at, &buffer, sizeof(buffer));
	__u8 next;

	if (!ip)
		return;
	arrival->ecn_capable = ip->class_label >> 4 & 3;
	arrival->flow.words[1] = ip->source[0];
	arrival->flow.words[2] = ip->source[1];
	arrival->flow.words[3] = ip->destination[0];
	arrival->flow.words[4] = ip->destination[1];
	next = ip->next;
	reader->at += sizeof(*ip);
	for (int i = 0; i < MOST_EXTENSIONS; i++) {
		__u8 extension_buffer[2], *extension;

		if (next != HOP_BY_HOP && next != ROUTING && next != DESTINATION && next != FRAGMENT)
			break;
		extension = bpf_dynptr_slice(&reader->packet, reader->at, extension_buffer, sizeof(extension_buffer));
		if (!extension)
			break;
		if (next == FRAGMENT) {
			arrival->flow.words[0] |= (__u64)extension[0] << 32;
			return;
		}
		next = extension[0];
		reader->at += (extension[1] + 1) * 8;
	}
	read_ports(reader, next, &arrival->flow);
}

// Other packets are of one flow if they have the same type and hardware addresses.
static __always_inline void read_frame(struct reader *reader, struct arrival *arrival)
{
	__u32 buffer[3], *addresses;

	if (!reader->at)
		return; // a device without such addresses
	addresses = bpf_dynptr_slice(&reader->packet, 0, buffer, sizeof(buffer));
	if (!addresses)
		return;
	arrival->flow.words[1] = (__u64)addresses[0] << 32 | addresses[1];
	arrival->flow.words[2] = addresses[2];
}

// Fills in the flow of an arrival, and whether it may be marked.
static __always_inline void read_flow(struct reader *reader, __be16 type, struct arrival *arrival)
{
	for (int i = 0; i < MOST_TAGS; i++) {
		__be16 buffer[2], *tag;

		if (type != bpf_htons(ETHERTYPE_VLAN) && type != bpf_htons(ETHERTYPE_PROVIDER_VLAN))
			break;
		tag = bpf_dynptr_slice(&reader->packet, reader->at, buffer, sizeof(buffer));
		if (!tag)
			break;
		type = tag[1];
		reader->at += sizeof(buffer);
	}
	reader->ip_at = reader->at;
	reader->type = type;
	arrival->flow.words[0] = (__u64)type << 48;
	if (type == bpf_htons(ETHERTYPE_IPV4))
		read_ipv4(reader, arrival);
	else if (type == bpf_htons(ETHERTYPE_IPV6))
		read_ipv6(reader, arrival);
	else
		read_frame(reader, arrival);
}
