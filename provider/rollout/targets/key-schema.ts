import { z } from "zod";
import type { Finding } from "../../settings-files/finding";
import { buildCommandSchema, buildRedactedTextSchema } from "./value-schemas";

// No message here repeats a value, because it may be a misplaced key.

const SOURCES_HINT =
  "write its source: { environment: ACME_API_KEY }, { file: /run/secrets/acme } or { command: [program, argument] }";

export const keySourceSchema = z
  .strictObject(
    {
      environment: buildRedactedTextSchema("the name of an environment variable")
        .regex(
          // May contain placeholders. The expanded name is checked again.
          /^(?:[A-Za-z_]|\{(?:name|NAME)\})(?:[A-Za-z0-9_]|\{(?:name|NAME)\})*$/,
          "isn't a valid name of an environment variable (the value is not shown, because it may be the key itself); write a name such as ACME_API_KEY or {NAME}_API_KEY",
        )
        .describe("The name of the environment variable that holds the key."),
      file: buildRedactedTextSchema("the path of a file")
        .min(1, "is empty; write the path of a file")
        .describe("The file that holds the key, relative to this one or absolute, such as a mounted secret."),
      command: buildCommandSchema(
        "a program and its arguments, such as [vault, read, -field=key, secret/acme]",
      ).describe(
        "A program and its arguments; it prints the key. It is run without a shell, in the working directory.",
      ),
    },
    {
      error: ({ code, input }) =>
        code === "unrecognized_keys"
          ? undefined
          : input === null || input === undefined
            ? `is empty; ${SOURCES_HINT}`
            : PLAINTEXT_KEY_MESSAGE,
    },
  )
  .partial()
  .check((context) => {
    const count = Object.keys(context.value).length;
    if (context.issues.length > 0 || count === 1) return;
    const message = count === 0 ? `is empty; ${SOURCES_HINT}` : "has more than one source; keep one";
    context.issues.push({ code: "custom", message, input: context.value });
  })
  .meta({ minProperties: 1, maxProperties: 1 })
  .describe("The source of the tenant's API key; never the key itself.");

/** The message for a key that somebody wrote into the file. */
const PLAINTEXT_KEY_MESSAGE = `must specify the source of the key, never the key itself; ${SOURCES_HINT}. If this was a key, it is exposed: have the service issue another`;

/** Builds the finding for an invalid key source. Never repeats the value. */
export function buildKeyFinding(
  issue: z.core.$ZodIssue,
  unknownKey: string | undefined,
): Pick<Finding, "code" | "message"> | undefined {
  const [section, ...restPath] = issue.path;
  const fieldPath = section === "tenants" ? restPath.slice(1) : restPath;
  if (!/^(?:undefined|defaults|tenants)$/.test(String(section))) return undefined;
  if (fieldPath.length === 0) {
    return unknownKey !== undefined && looksLikeKey(unknownKey)
      ? { code: "key-in-the-clear", message: `key ${PLAINTEXT_KEY_MESSAGE}` }
      : undefined;
  }
  if (fieldPath[0] !== "key") return undefined;
  const isSource = issue.code !== "unrecognized_keys" && fieldPath.length > 1;
  if (isSource) return { code: "invalid-value", message: `${String(fieldPath[1])} ${issue.message}` };
  if (unknownKey !== undefined && /^(?:env|variable|path|cmd)$/i.test(unknownKey)) {
    return { code: "unknown-key", message: `has an unknown key; ${SOURCES_HINT}` };
  }
  const isPlaintext = issue.code === "invalid_type" && issue.message === PLAINTEXT_KEY_MESSAGE;
  return unknownKey !== undefined || isPlaintext
    ? { code: "key-in-the-clear", message: `key ${PLAINTEXT_KEY_MESSAGE}` }
    : { code: "invalid-value", message: `key ${issue.message}` };
}

/** Whether a mapping key looks like a name for an API key, possibly joined with the key itself. */
function looksLikeKey(keyName: string): boolean {
  if (/^(?:x[-_]?)?(?:api[-_]?key|secret|token|password)/i.test(keyName)) return true;
  return /key|secret|token|password/i.test(keyName) && !/^[A-Za-z_-]+$/.test(keyName);
}
