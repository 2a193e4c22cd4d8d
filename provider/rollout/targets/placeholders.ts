/** Replaces `{name}` in a text with the tenant's name, and `{NAME}` with its form in capitals, as in the names of environment variables. */
export function named(text: string, name: string): string {
  return text.replace(/\{(name|NAME)\}/g, (_all, which: string) =>
    which === "name" ? name : inCapitals(name),
  );
}

/** Reverses {@link named}: replaces a tenant's name with its placeholder, but only where it stands alone. */
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
