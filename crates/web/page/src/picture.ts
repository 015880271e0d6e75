// The picture of the README: CHOKe as an animated SVG, from events of the simulator. `make figures` writes it; the page does not need it.

import { Engine } from "./engine";
import { type Packet, record, type Scene } from "./scene";
import { Track, tracks } from "./track";

/** CHOKe's Figure 3 with a queue that is short enough to be drawn packet by packet. */
const DOWNLOADS = 32;
const SCENARIO = `duration = "200s"
warmup = "20s"

[bottleneck]
rate = "1mbit"
delay = "1ms"
queue = { kind = "choke", limit = "40p", min = "5p", max = "20p" }

[[flows]]
name = "downloads"
kind = "tcp"
count = ${DOWNLOADS}

[[flows]]
name = "flood"
kind = "udp"
rate = "2mbit"
`;
/** The simulated seconds in which a scene is sought, its arrivals, and the packets in the queue while it lasts. */
const [FROM, UNTIL] = [20, 180];
const STEPS = 7;
const QUEUE = { least: 10, most: 12 };

/** True for packets of the flood, which is the last flow. */
const isFlood = (packet: Packet): boolean => packet.flow === DOWNLOADS;

/** True for a scene that shows everything: draws that match and draws that do not, of the flood and of a download. */
function tells({ queue, steps }: Scene): boolean {
  const lengths = steps.reduce<number[]>((sizes, { match, leaving }) => {
    const before = sizes.at(-1) ?? 0;
    return [...sizes, before + (match ? -1 : 1) - leaving.length];
  }, [queue.length]);
  const [first, second] = steps;
  const matches = steps.filter(({ match }) => match).length;
  const spared = steps.filter(({ arrival }) => !isFlood(arrival)).length;
  const flooded = queue.filter(isFlood).length / queue.length;
  return (
    lengths.every((length) => length >= QUEUE.least && length <= QUEUE.most) &&
    steps.every(({ match, arrival, leaving }) => leaving.length <= 1 && !(match && !isFlood(arrival))) &&
    first?.match === false && isFlood(first.arrival) && second?.match === true &&
    matches === 3 && spared === 2 && flooded > 0.3 && flooded < 0.6
  );
}

/** The times in seconds: of a step; in it, when the line begins and has arrived, and when the verdict is carried out and done. */
const STEP = 1.6;
const PHASE = { there: 0.4, line: 0.45, reached: 0.7, verdict: 1.05, done: 1.45 };
const FADE = 0.45;
const TOTAL = STEPS * STEP + 2 * FADE;
/** The moment that a viewer who wants no motion sees: the first match. */
const STILL = FADE + STEP + 0.95;

const WIDTH = 760;
const HEIGHT = 316;
const CELL = 38;
const SIZE = 31;
const [HEAD, ROW, GATE] = [WIDTH - 172, 132, { x: 96, y: 62 }];
/** The bars: their width and height, the place of the first and of the second. */
const BAR = { width: 16, height: 116, top: 62, x: 22, second: WIDTH - 88 };

/** The place of a packet of the queue; 0 leaves next. */
const seat = (index: number): { x: number; y: number } => ({ x: HEAD - index * CELL, y: ROW });

/** A line from an arrival to the packet that was drawn. */
interface Draw {
  readonly at: number;
  readonly to: { x: number; y: number };
  readonly match: boolean;
}

/** Plays a scene: where each packet is at what time, and the lines. */
function play(scene: Scene): { packets: Map<Packet, Track>; draws: Draw[] } {
  const packets = new Map<Packet, Track>();
  const draws: Draw[] = [];
  let queue = [...scene.queue];
  for (const [index, packet] of queue.entries()) packets.set(packet, tracks.standing(seat(index)));
  /** Sends everybody to the place that is theirs from now on. */
  const settle = (begin: number, end: number): void => {
    for (const [index, packet] of queue.entries()) packets.get(packet)?.move(begin, end, seat(index));
  };
  for (const [index, step] of scene.steps.entries()) {
    const begin = FADE + index * STEP;
    const arrival = tracks.hidden({ x: BAR.x, y: GATE.y });
    packets.set(step.arrival, arrival);
    arrival.come(begin, begin + PHASE.there, GATE);
    const drawn = queue.find(({ number }) => number === step.drawn);
    if (drawn === undefined) throw new Error("the packet that was drawn is not in the queue");
    draws.push({ at: begin, to: packets.get(drawn)?.place ?? seat(0), match: step.match });
    const [verdict, done] = [begin + PHASE.verdict, begin + PHASE.done];
    if (step.match) {
      queue = queue.filter((packet) => packet !== drawn);
      arrival.fall(verdict, done);
      packets.get(drawn)?.fall(verdict, done);
    } else queue.push(step.arrival);
    const leaving = queue.filter(({ number }) => step.leaving.includes(number));
    queue = queue.filter((packet) => !leaving.includes(packet));
    for (const packet of leaving) packets.get(packet)?.leave(verdict, done, { x: HEAD + 84, y: ROW });
    settle(verdict + (step.match ? 0.15 : 0), done);
  }
  return { packets, draws };
}

/** The colours of the playground's style sheet: `name` in light and in dark. */
function colour(css: string, name: string): [string, string] {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css);
  if (found?.[1] === undefined || found[2] === undefined) throw new Error(`the style sheet has no --${name}`);
  return [found[1], found[2]];
}

const NAMES = { page: "page", text: "text", faint: "faint", rule: "rule", flow: "series-1", flood: "series-2", mark: "mark" } as const;

const percent = (part: number): string => `${Math.round(100 * part)} %`;

/** A packet; the flood's has a notch, for readers who do not see the hue. */
function body(flood: boolean, shade: number): string {
  const [end, cut] = [SIZE, 17];
  if (flood) return `<path class="flood" d="M5 0H${cut}L${end} ${end - cut}V${end - 5}a5 5 0 0 1 -5 5H5a5 5 0 0 1 -5 -5V5a5 5 0 0 1 5 -5z"/>`;
  return `<rect class="flow" width="${SIZE}" height="${SIZE}" rx="5" fill-opacity="${(1 - 0.13 * shade).toFixed(2)}"/>`;
}

const text = (x: number, y: number, words: string, attributes = ""): string => `<text x="${x}" y="${y}"${attributes}>${words}</text>`;

/** A bar whose parts are those of the flood, below, and of the downloads. */
function bar(x: number, flood: number, label: string): string {
  const { top, height, width } = BAR;
  const part = Math.round(height * flood);
  return [
    `<rect class="flow" x="${x}" y="${top}" width="${width}" height="${height - part}"/>`,
    `<rect class="flood" x="${x}" y="${top + height - part}" width="${width}" height="${part}"/>`,
    text(x + width + 7, top + height - part / 2 + 5, percent(flood), ' class="strong"'),
    text(x, top + height + 22, label),
  ].join("\n");
}

/** A frame around a packet. */
const frame = (x = 0, y = 0): string => `<rect x="${x - 4}" y="${y - 4}" width="${SIZE + 8}" height="${SIZE + 8}" rx="8"/>`;

/** A line to the packet that was drawn, with its frame; those of a match fall with the packets. */
function drawing({ at, to, match }: Draw): { track: Track; inside: string }[] {
  const [begin, reached, verdict, done] = [at + PHASE.line, at + PHASE.reached, at + PHASE.verdict, at + PHASE.done];
  const [x, y] = [GATE.x + SIZE + 4, GATE.y + SIZE / 2];
  const line = `<path d="M${x} ${y}L${to.x + SIZE / 2} ${to.y - 4}"/>`;
  const path = tracks.hidden({ x: 0, y: 0 });
  path.fade(begin, reached, 1);
  path.fade(verdict, verdict + 0.15, 0);
  if (!match) return [{ track: path, inside: line + frame(to.x, to.y) }];
  const falling = [GATE, to].map((place) => {
    const track = tracks.hidden(place);
    track.fade(begin, reached, 1);
    track.fall(verdict, done);
    return { track, inside: frame() };
  });
  return [{ track: path, inside: line }, ...falling];
}

/** Draws the picture with the simulator in `wasm`, in the colours of `css`. */
export async function picture(wasm: BufferSource, css: string): Promise<string> {
  const engine = await Engine.from(wasm);
  engine.create(0, { file: SCENARIO, settings: [], kind: "choke" }, 0);
  const { scenes, parts } = record(engine, FROM, UNTIL, STEPS);
  const scene = scenes.find(tells);
  const flood = parts[1];
  if (scene === undefined || flood === undefined) throw new Error("no part of the simulation shows all that the picture is to show");
  const { packets, draws } = play(scene);
  const style: string[] = [];
  const colours = Object.entries(NAMES).map(([name, key]) => [name, ...colour(css, key)] as const);
  style.push(`:root{${colours.map(([name, light]) => `--${name}:${light}`).join(";")}}`);
  style.push(`@media(prefers-color-scheme:dark){:root{${colours.map(([name, , dark]) => `--${name}:${dark}`).join(";")}}}`);
  style.push(
    "text{fill:var(--text);font:15px system-ui,'Segoe UI','Helvetica Neue','DejaVu Sans',sans-serif}.faint{fill:var(--faint)}.strong{font-weight:700}",
    ".card{fill:var(--page);stroke:var(--rule)}.flow{fill:var(--flow)}.flood{fill:var(--flood)}.rule{stroke:var(--faint);fill:none}",
    ".draw{fill:none;stroke:var(--faint);stroke-width:2}.match{stroke:var(--mark);stroke-width:3.5}",
    `#stage,#stage *{animation-duration:${TOTAL.toFixed(2)}s;animation-iteration-count:infinite;animation-timing-function:ease-in-out}`,
    `@media(prefers-reduced-motion:reduce){#stage,#stage *{animation-play-state:paused;animation-delay:-${STILL.toFixed(2)}s}}`,
  );
  const stage = tracks.fading(FADE, TOTAL);
  style.push(stage.keyframes("stage", TOTAL), "#stage{animation-name:stage}");
  const [below, above]: [string[], string[]] = [[], []];
  let number = 0;
  for (const [packet, track] of packets) {
    const name = `p${number++}`;
    style.push(track.keyframes(name, TOTAL), `#${name}{animation-name:${name}}`);
    below.push(`<g id="${name}" style="${track.at(STILL)}">${body(isFlood(packet), packet.flow % 5)}</g>`);
  }
  number = 0;
  for (const draw of draws) {
    for (const { track, inside } of drawing(draw)) {
      const name = `d${number++}`;
      style.push(track.keyframes(name, TOTAL), `#${name}{animation-name:${name}}`);
      above.push(`<g id="${name}" class="draw${draw.match ? " match" : ""}" style="${track.at(STILL)}">${inside}</g>`);
    }
  }
  const label = `CHOKe at work: packets wait in a queue. Each arriving packet is compared with one that is drawn at random. If both are of the same flow, both are dropped. A flood that sends ${percent(flood.sent)} of the packets gets ${percent(flood.delivered)} of the link; the rest is left to ${DOWNLOADS} downloads.`;
  const small = (x: number, y: number, inside: string): string => `<g transform="translate(${x} ${y}) scale(.58)">${inside}</g>`;
  const bottom = HEIGHT - 62;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${label}">
<style>
${style.join("\n")}
</style>
<rect class="card" x=".5" y=".5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="12"/>
${small(22, 18, body(false, 0))}${small(44, 18, body(false, 2))}${small(66, 18, body(false, 4))}
${text(94, 32, `${DOWNLOADS} downloads`)}
${small(216, 18, body(true, 0))}
${text(244, 32, "one flood")}
${bar(BAR.x, flood.sent, "sent")}
${bar(BAR.second, flood.delivered, "delivered")}
<path class="rule" d="M${HEAD + SIZE + 9} ${ROW - 10}V${ROW + SIZE + 10}M${HEAD + SIZE + 18} ${ROW + SIZE / 2}h24m-6 -5l6 5l-6 5"/>
${text(HEAD + SIZE, ROW + SIZE + 24, "queue", ' class="faint" text-anchor="end"')}
${text(HEAD + SIZE + 18, ROW + SIZE + 24, "link", ' class="faint"')}
${text(WIDTH - 22, 32, "CHOKe, packet by packet", ' class="faint" text-anchor="end"')}
<g id="stage">
${below.join("\n")}
${above.join("\n")}
</g>
<g class="draw"><path d="M22 ${bottom + 9}h22"/><rect x="46" y="${bottom}" width="18" height="18" rx="4"/></g>
${text(78, bottom + 14, "drawn at random, another flow: the arrival joins the queue")}
<g class="draw match"><path d="M22 ${bottom + 37}h22"/><rect x="46" y="${bottom + 28}" width="18" height="18" rx="4"/></g>
${text(78, bottom + 42, "drawn at random, the same flow: both are dropped")}
</svg>
`;
}
