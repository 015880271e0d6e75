//! Any bytes as data from a netlink socket: packets of an NFQUEUE, answers, or malformed messages.

use fairlane_linux::nfqueue::{Decision, Message, Verdict, messages};
use fairlane_qdisc::headers::{FlowKeys, FlowsBy, Headers, LinkType, mark_ce};

/// Reads all messages, and writes a verdict on each packet, as a router does.
pub(crate) fn run(bytes: &[u8]) {
    let (keys, mut out, mut packets) = (FlowKeys::new(FlowsBy::Inner, 1), Vec::new(), 0);
    for message in messages(bytes) {
        match message {
            Message::Packet(queued) => {
                packets += 1;
                assert!(queued.payload.len() < bytes.len());
                let headers = Headers::read(LinkType::Raw, queued.payload, queued.bytes).by(keys.by(), queued.payload);
                assert_eq!(keys.of(&headers), keys.of(&headers));
                let mut payload = queued.payload.to_vec();
                mark_ce(&mut payload, 0);
                assert_eq!(payload.len(), queued.payload.len());
                Verdict { id: queued.id, decision: Decision::Rewrite(payload.into()), repeat: None }
                    .write(queued.queue, &mut out);
            }
            Message::Answer(_) | Message::Other | Message::Malformed => {}
        }
    }
    // The verdicts are valid messages, one for each packet, of a type that the kernel does not send.
    assert_eq!(messages(&out).filter(|message| *message == Message::Other).count(), packets);
    assert_eq!(messages(&out).count(), packets);
}
