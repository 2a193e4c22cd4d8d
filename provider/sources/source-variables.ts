/** The credentials of a source. Only the environment of the run holds them. */
export type SourceVariable = "TOKEN" | "HEADER" | "USER" | "PASSWORD";

/** Returns the name of a source's variable, such as `…_SOURCE_PHISH_FEED_TOKEN`. */
export function formatSourceVariable(name: string, variable: SourceVariable): string {
  return `EMAIL_SECURITY_SOURCE_${name.toUpperCase().replaceAll("-", "_")}_${variable}`;
}
