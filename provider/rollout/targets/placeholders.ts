/** A text with a tenant's name in the place of `{name}`, and with that in capitals, as variables have it, in the place of `{NAME}`. */
export function named(text: string, name: string): string {
  return text.replace(/\{(name|NAME)\}/g, (_all, which: string) =>
    which === "name" ? name : inCapitals(name),
  );
}

/** The same backwards: a text in which a tenant's name is its placeholder again, as far as it stands there by itself. */
export function unnamed(text: string, name: string): string {
  return [
    [name, "{name}"],
    [inCapitals(name), "{NAME}"],
  ].reduce((filled, [word = "", placeholder = ""]) => withWord(filled, word, placeholder), text);
}

function inCapitals(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

function withWord(text: string, word: string, placeholder: string): string {
  const escaped = word.replace(/[.\\+*?[^\]$(){}=!<>|:#-]/g, "\\$&");
  return text.replace(new RegExp(`(?<![A-Za-z0-9{])${escaped}(?![A-Za-z0-9}])`, "g"), () => placeholder);
}
