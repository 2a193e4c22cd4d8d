/** Returns the name by which the user runs this command: with npx, it isn't on PATH. */
export function getCommandName(environment: NodeJS.ProcessEnv = process.env): string {
  return environment["npm_command"] === "exec" ? "npx email-security" : "email-security";
}
