/** Returns whether to use colours: on a terminal that supports them, subject to NO_COLOR and FORCE_COLOR. */
export function shouldUseColor(terminal: Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>): boolean {
  if (process.env["NO_COLOR"]) return false;
  if (process.env["FORCE_COLOR"]) return process.env["FORCE_COLOR"] !== "0";
  return terminal.isTTY === true && terminal.hasColors?.() === true;
}
