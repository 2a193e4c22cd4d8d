import type { z } from "zod";
import { InvalidArgumentError, type SettingsClient } from "../../client";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";

/** A function that reads from the service, as plain data without Pulumi types, for every provider. */
export interface FunctionDefinition<Args extends object, Result extends object> {
  /** The schema of its arguments. */
  readonly args: z.ZodObject;
  /** The schema of its result. */
  readonly result: z.ZodObject;
  /**
   * Validates the arguments and reads.
   *
   * @throws {InvalidArgumentError} with all invalid arguments; no request was made.
   * @throws {EmailSecurityError} if the service refuses, is unreachable, or sends an unexpected response.
   */
  read(client: SettingsClient, args: Args): Promise<Result>;
}

/** Defines a function whose `read` gets arguments that its schema has validated. */
export function defineFunction<Args extends z.ZodObject, Result extends z.ZodObject>({
  args: schema,
  result,
  read,
}: {
  readonly args: Args;
  readonly result: Result;
  readonly read: (client: SettingsClient, args: z.output<Args>) => Promise<z.output<Result>>;
}): FunctionDefinition<z.output<Args>, z.output<Result>> {
  return {
    args: schema,
    result,
    read: async (client, args) => await read(client, parseFunctionArguments(schema, args)),
  };
}

function parseFunctionArguments<Args extends z.ZodObject>(schema: Args, args: unknown): z.output<Args> {
  if (typeof args !== "object" || args === null) {
    throw new InvalidArgumentError(`the arguments must be an object, not ${quote(args)}`);
  }
  const parsed = schema.safeParse(omitUndefined(args));
  if (parsed.success) return parsed.data;
  const argumentNames = Object.keys(schema.shape);
  const namesText =
    argumentNames.length === 0 ? "it has no arguments" : `its arguments are ${argumentNames.join(", ")}`;
  const reasons = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `${key} isn't an argument of this function; ${namesText}`)
      : [`${issue.path.join(".")} ${issue.message}`],
  );
  throw new InvalidArgumentError(reasons.join("\n"));
}
