// The scenario as text: its values, and what the command line calls for the same.

import { isText, type State } from "./state";

/** Quotes a word for a shell. */
const quoted = (word: string): string => (/^[\w./,:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The command that simulates what the page shows. */
export function command(state: State, runs: number): string {
  const file = isText(state.file) ? "mine.toml" : state.file;
  const settings = [...state.settings].map(([key, value]) => `--set ${quoted(`${key}=${value}`)}`);
  return ["fairlane compare", file, "--queue", state.kinds.join(","), ...settings, ...(runs > 1 ? [`--runs ${runs}`] : [])].join(" ");
}
