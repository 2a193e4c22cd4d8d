/** Replaces `{name}` in a text with the tenant's name, and `{NAME}` with its form in capitals, as in the names of environment variables. */
export function fillPlaceholders(text: string, name: string): string {
  return text.replace(/\{(name|NAME)\}/g, (_all, placeholder: string) =>
    placeholder === "name" ? name : toVariableName(name),
  );
}

/** Reverses {@link fillPlaceholders}: replaces a tenant's name with its placeholder, but only where it stands alone. */
export function restorePlaceholders(text: string, name: string): string {
  return [
    [name, "{name}"],
    [toVariableName(name), "{NAME}"],
  ].reduce((result, [value = "", placeholder = ""]) => replaceWord(result, value, placeholder), text);
}

function toVariableName(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

function replaceWord(text: string, value: string, placeholder: string): string {
  const escaped = value.replace(/[.\\+*?[^\]$(){}=!<>|:#-]/g, "\\$&");
  return text.replace(new RegExp(`(?<![A-Za-z0-9{])${escaped}(?![A-Za-z0-9}])`, "g"), () => placeholder);
}
