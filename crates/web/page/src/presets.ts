// Scenarios to begin with. Those of papers and of scenarios/ are compiled into the simulator; the others are here.

/** A scenario with the disciplines that make its point. */
export interface Preset {
  readonly id: string;
  readonly title: string;
  /** The name of a scenario, or its text. */
  readonly file: string;
  readonly kinds: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** What to look at. */
  readonly about: string;
}

const HOSTS = `[access]
rate  = "1gbit"
delay = "2ms"
`;

/** A line of 10 Mbit/s with CHOKe's thresholds, and what flows over it. */
const line = (name: string, flows: string, queue = `{ kind = "choke", limit = "300p", min = "60p", max = "120p" }`): string => `name     = "${name}"
duration = "60s"
warmup   = "10s"

[tcp]
preset = "modern"

[bottleneck]
rate  = "10mbit"
delay = "10ms"
queue = ${queue}

${HOSTS}
${flows}`;

const BUFFERBLOAT = line(
  "A call beside downloads",
  `[[flows]]
name  = "download"
kind  = "tcp"
cc    = "cubic"
count = 8

[[flows]]
name   = "call"
kind   = "udp"
rate   = "100kbit"
packet = "200b"
`,
  `{ kind = "droptail", limit = "600p" }`,
);

const BULLY = line(
  "One bully",
  `[[flows]]
name  = "download"
kind  = "tcp"
cc    = "sack"
count = 20

[[flows]]
name   = "bully"
kind   = "udp"
rate   = "20mbit"
packet = "1500b"
`,
);

const BULLIES = line(
  "Many bullies",
  `[[flows]]
name  = "download"
kind  = "tcp"
cc    = "sack"
count = 20

[[flows]]
name   = "bully"
kind   = "udp"
count  = 5
rate   = "4mbit"
packet = "1500b"
`,
);

export const PRESETS: readonly Preset[] = [
  {
    id: "figure-3",
    title: "CHOKe, Figure 3",
    file: "choke-fig3",
    kinds: ["red", "choke"],
    about:
      "32 TCP flows share 1 Mbit/s with one UDP flow that sends 2 Mbit/s and never slows down. RED gives it nearly everything. CHOKe gives it about a quarter.",
  },
  {
    id: "figure-5",
    title: "CHOKe, Figure 5",
    file: "choke-fig5",
    kinds: ["red", "choke"],
    about:
      "The same with lower thresholds. Move the rate of the UDP flow: the faster it sends, the larger the part of it that CHOKe drops, while RED drops everybody's packets alike.",
  },
  {
    id: "bully",
    title: "One bully",
    file: BULLY,
    kinds: ["droptail", "choke"],
    about: "Twenty downloads on a line of today, and one flow that sends twice what the line carries.",
  },
  {
    id: "bufferbloat",
    title: "Bufferbloat",
    file: BUFFERBLOAT,
    kinds: ["droptail", "codel"],
    about:
      "Nobody floods here: eight downloads fill a buffer of 600 packets, and a call of 100 kbit/s waits behind them. CoDel drops early and keeps the wait short.",
  },
  {
    id: "bullies",
    title: "Many bullies",
    file: BULLIES,
    kinds: ["choke", "choke-adaptive"],
    about:
      "Five flows flood at once. A draw finds a packet of any one of them five times less often, so plain CHOKe loses its grip. Drawing more candidates wins some of it back.",
  },
  {
    id: "web",
    title: "Web against a flood",
    file: "web",
    settings: { "flows.cbr.rate": "12mbit" },
    kinds: ["droptail", "choke"],
    about: "Forty people fetch pages beside four downloads, and a flood of 12 Mbit/s runs over a line of 10 Mbit/s.",
  },
  {
    id: "echo",
    title: "ECHO beside CHOKe",
    file: BULLIES,
    kinds: ["choke", "echo"],
    about:
      "The same five floods. ECHO compares arrivals with a small sample of recent arrivals instead of the queue, so it needs no full queue to find who sends too much.",
  },
];

export const presetOf = (id: string): Preset | undefined => PRESETS.find((preset) => preset.id === id);

/** The scenario of a preset; `undefined` without a name. Throws for a name that no preset has. */
export function fileOf(id: string): string | undefined {
  const preset = presetOf(id);
  if (id !== "" && preset === undefined) throw new Error(`There is no preset "${id}"; there are ${PRESETS.map((each) => each.id).join(", ")}`);
  return preset?.file;
}
