// Does several runs of a scenario, for intervals.

import { Engine, Refusal } from "./engine";
import type { BatchAnswer, BatchOrder } from "./protocol";

const say = (answer: BatchAnswer): void => self.postMessage(answer);

self.addEventListener("message", (event: MessageEvent<BatchOrder>) => {
  void work(event.data).catch((error: unknown) => {
    const line = error instanceof Refusal ? error.line : 0;
    say({ type: "refused", text: error instanceof Error ? error.message : String(error), line });
  });
});

async function work({ request, runs }: BatchOrder): Promise<void> {
  const engine = await Engine.load();
  engine.prepare(request);
  for (let done = 1; done <= runs; done += 1) {
    engine.run();
    say({ type: "progress", done });
  }
  say({ type: "outcome", json: engine.outcome() });
}
