// What the page shows, and how the address says it.

/** Everything that another visitor needs in order to see the same. */
export interface State {
  /** The name of a scenario, or its text. */
  readonly file: string;
  /** The preset that it came from, or "". */
  readonly preset: string;
  /** Values in place of the file's. */
  readonly settings: ReadonlyMap<string, string>;
  /** The disciplines of the sides: one or two. */
  readonly kinds: readonly string[];
  /** Simulated seconds in a second. */
  readonly speed: number;
  /** The step of the tour, or 0. */
  readonly step: number;
}

/** True for a text, false for a name. */
export const isText = (file: string): boolean => file.includes("\n") || file.includes("=");

/** Encodes bytes for an address. */
function encode(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: GenericTransformStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair)).arrayBuffer());
}

/** The part of the address after `#`. */
export async function toAddress(state: State): Promise<string> {
  const words = new URLSearchParams();
  if (state.step > 0) words.set("tour", String(state.step));
  if (state.preset !== "") words.set("preset", state.preset);
  else if (isText(state.file)) {
    words.set("toml", encode(await through(new TextEncoder().encode(state.file), new CompressionStream("deflate-raw"))));
  } else words.set("scenario", state.file);
  words.set("queue", state.kinds.join(","));
  for (const [key, value] of state.settings) words.append("set", `${key}=${value}`);
  words.set("speed", String(Number(state.speed.toPrecision(3))));
  return words.toString().replaceAll("%2C", ",").replaceAll("%3D", "=");
}

/** What an address says; values that it leaves out are those of `usual`. */
export async function fromAddress(address: string, usual: State, presetFile: (preset: string) => string | undefined): Promise<State> {
  const words = new URLSearchParams(address.replace(/^#/, ""));
  const preset = words.get("preset") ?? "";
  const toml = words.get("toml");
  let file = presetFile(preset) ?? words.get("scenario") ?? usual.file;
  if (toml !== null) {
    try {
      file = new TextDecoder().decode(await through(decode(toml), new DecompressionStream("deflate-raw")));
    } catch {
      throw new Error("The address is damaged: its scenario cannot be read");
    }
  }
  const known = presetFile(preset) !== undefined;
  const settings = new Map<string, string>();
  for (const setting of words.getAll("set")) {
    const at = setting.indexOf("=");
    if (at > 0) settings.set(setting.slice(0, at), setting.slice(at + 1));
  }
  const kinds = (words.get("queue") ?? "").split(",").filter((kind) => kind !== "").slice(0, 2);
  const speed = Number(words.get("speed") ?? Number.NaN);
  const step = Number(words.get("tour") ?? 0);
  return {
    file,
    preset: known ? preset : file === usual.file ? usual.preset : "",
    settings,
    kinds: kinds.length > 0 ? kinds : usual.kinds,
    speed: speed >= MIN_SPEED && speed <= MAX_SPEED ? speed : usual.speed,
    step: Number.isInteger(step) && step >= 0 && step <= 7 ? step : 0,
  };
}

/** The slowest: a packet of 1000 bytes at 10 Mbit/s takes 8 s. */
export const MIN_SPEED = 0.0001;
/** The fastest. */
export const MAX_SPEED = 100;
