// Elements.

/** An element with a class and what it contains. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...content);
  return made;
}

/** A button that does something. */
export function button(text: string, about: string, action: () => void): HTMLButtonElement {
  const made = element("button", "", text);
  made.type = "button";
  if (about !== "") made.append(element("span", "unseen", ` ${about}`));
  made.addEventListener("click", action);
  return made;
}

/** Saves a file. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The name of a file about `title`: letters, digits and dashes, as every system takes them. */
export function fileName(title: string, ending: string): string {
  const words = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return `${words.slice(0, 60) || "data"}.${ending}`;
}
