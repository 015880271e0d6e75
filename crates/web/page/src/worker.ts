// Simulates both sides, apart from the page.

import { Engine, Refusal } from "./engine";
import type { Answer, Order, Request } from "./protocol";

/** The time in milliseconds that an order may take, so that a frame is not late. */
const BUDGET = 11;

const say = (answer: Answer, transfer: Transferable[] = []): void => self.postMessage(answer, { transfer });

let engine: Engine | undefined;
let requests: readonly Request[] = [];
/** The time until which all sides are to be simulated, and whether they are. */
let target = 0;
let reached = true;

async function handle(order: Order): Promise<void> {
  engine ??= await Engine.load();
  switch (order.type) {
    case "start": {
      const created = order.requests.map((request, side) => [engine?.create(side, request, order.run), side] as const);
      for (let side = created.length; side < 2; side += 1) engine.remove(side);
      requests = order.requests;
      [target, reached] = [order.skip, true];
      for (const [, side] of created) {
        engine.setInterval(side, Math.max(order.skip, 1) / 100);
        while (!engine.advance(side, order.skip));
      }
      say({ type: "started", infos: created.flatMap(([info]) => info ?? []) });
      break;
    }
    case "update":
      update(engine, order.requests);
      break;
    case "advance":
      advance(engine, order.seconds, order.interval);
      break;
    case "toml":
      say({ type: "toml", text: engine.toml(order.request) });
      break;
  }
}

/** Changes all sides, or says that they have to begin again. */
function update(engine: Engine, wanted: readonly Request[]): void {
  const infos = wanted.map((request, side) => engine.update(side, request));
  requests = wanted;
  const there = infos.flatMap((info) => info ?? []);
  say({ type: "updated", infos: there, restart: there.length < wanted.length });
}

function advance(engine: Engine, seconds: number, interval: number): void {
  const end = performance.now() + BUDGET;
  // A machine that is too slow for the speed finishes one step before it begins the next.
  if (reached) target += seconds;
  const sides = requests.map((_, side) => side);
  for (const side of sides) engine.setInterval(side, interval);
  let late = sides;
  do {
    late = late.filter((side) => !engine.advance(side, target));
  } while (late.length > 0 && performance.now() < end);
  reached = late.length === 0;
  const frames = sides.map((side) => ({ numbers: engine.frame(side), ...engine.series(side) }));
  say(
    { type: "frames", sides: frames, reached },
    frames.flatMap((frame) => [frame.numbers.buffer, frame.rows.buffer]),
  );
}

self.addEventListener("message", (event: MessageEvent<Order>) => {
  handle(event.data).catch((error: unknown) => {
    if (error instanceof Refusal) say({ type: "refused", text: error.message, line: error.line });
    else say({ type: "failed", text: String(error) });
  });
});

Engine.load().then(
  (loaded) => {
    engine ??= loaded;
    say({ type: "ready", constants: engine.constants() });
  },
  (error: unknown) => say({ type: "failed", text: String(error) }),
);
