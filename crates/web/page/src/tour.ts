// The guided tour: seven states that one can play with, each with its text and its sources.

/** A step of the tour. */
export interface Step {
  readonly title: string;
  readonly text: readonly string[];
  readonly preset: string;
  readonly kinds: readonly string[];
  readonly speed: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly source: { readonly text: string; readonly url: string };
}

const CHOKE = {
  text: "R. Pan, B. Prabhakar, K. Psounis: CHOKe, a stateless active queue management scheme. INFOCOM 2000",
  url: "https://doi.org/10.1109/INFCOM.2000.832269",
};

export const STEPS: readonly Step[] = [
  {
    title: "A queue that is full",
    text: [
      "Packets wait here for a link. Blue ones belong to 32 downloads over TCP, orange ones with a notch to one UDP flow that sends twice what the link carries.",
      "DropTail knows one rule: drop what arrives while the queue is full. TCP slows down after a loss. The flood does not, so it takes each place that becomes free. Watch the bars: the downloads get nearly nothing.",
    ],
    preset: "figure-3",
    kinds: ["droptail"],
    speed: 1,
    source: { text: "RFC 7567: IETF Recommendations Regarding Active Queue Management", url: "https://www.rfc-editor.org/rfc/rfc7567" },
  },
  {
    title: "RED: a warning before the queue is full",
    text: [
      "RED follows the average queue and drops arrivals at random once it is above “min”, the more the longer it is. TCP flows hear this early and slow down before the queue overflows.",
      "But RED drops everybody's packets with the same probability. The flood ignores it. It still takes the link.",
    ],
    preset: "figure-3",
    kinds: ["droptail", "red"],
    speed: 4,
    source: { text: "S. Floyd, V. Jacobson: Random Early Detection gateways for congestion avoidance. 1993", url: "https://doi.org/10.1109/90.251892" },
  },
  {
    title: "CHOKe's draw",
    text: [
      "Now slowly. An arrival waits at the gate on the left. CHOKe draws one packet of the queue at random: the line. If both belong to the same flow, both fall. If not, the drawn packet stays, and the arrival enters unless RED drops it.",
      "CHOKe remembers no flows at all: no table, no counters. Press Space to pause, → to go on by a packet.",
    ],
    preset: "figure-3",
    kinds: ["choke"],
    speed: 0.02,
    source: CHOKE,
  },
  {
    title: "Why a flood meets itself",
    text: [
      "Who has many packets in the queue is drawn often, and who sends many packets draws often. The flood does both, so it meets itself again and again, and each match costs it two packets.",
      "Make it faster with the slider of the UDP rate: its share of the link falls. A flow gains nothing by sending more.",
    ],
    preset: "figure-3",
    kinds: ["red", "choke"],
    speed: 4,
    settings: { "flows.cbr.rate": "3mbit" },
    source: CHOKE,
  },
  {
    title: "Many floods",
    text: [
      "Five floods share the queue now. A draw still finds a flood, but mostly another one, and then nothing falls. Each of them keeps more than its fair share.",
      "The paper's answer is to draw several candidates, the more the longer the queue: the discipline on the right.",
    ],
    preset: "bullies",
    kinds: ["choke", "choke-adaptive"],
    speed: 1,
    source: CHOKE,
  },
  {
    title: "Front and Back CHOKe",
    text: [
      "Must the candidate be drawn at random? Front CHOKe takes the packet that leaves next, Back CHOKe the one that came last.",
      "Back CHOKe catches a flow that sends in bursts, since its last packet is still at the back. Compare where the lines end, and what each flow gets.",
    ],
    preset: "figure-3",
    kinds: ["front-choke", "back-choke"],
    speed: 0.05,
    source: CHOKE,
  },
  {
    title: "What fair queueing does instead",
    text: [
      "DRR gives each flow a queue of its own, drawn here as a column, and serves them in turn. Each flow gets its share exactly. The flood fills its own column and loses the rest.",
      "The price is state for each flow, and a choice of queue for each packet. CHOKe gets a good part of the way with none of it.",
    ],
    preset: "figure-3",
    kinds: ["choke", "drr"],
    speed: 1,
    source: { text: "M. Shreedhar, G. Varghese: Efficient fair queueing using deficit round robin. SIGCOMM 1995", url: "https://doi.org/10.1145/217382.217453" },
  },
];
