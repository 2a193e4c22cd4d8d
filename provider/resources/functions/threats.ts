import type * as pulumi from "@pulumi/pulumi";
import type { Threat } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { OutputArgs } from "./output-args";

/** The arguments of {@link getThreats}. */
export interface GetThreatsArgs {
  /** How far to look back, in minutes. Default: one week. */
  readonly minutesAgo?: number;
  /** How many threats at most, the newest as the service orders them. Default: all of the window. */
  readonly limit?: number;
}

/** The arguments of {@link getThreatsByInternetMessageId}. */
export interface GetThreatsByInternetMessageIdArgs {
  /** The Internet Message ID, as it stands in the mail: `<…@…>`. */
  readonly internetMessageId: string;
}

/** What the functions about threats answer. */
export interface GetThreatsResult {
  /** The threats, in the order of the service. */
  readonly threats: CamelCased<Threat>[];
}

const threats = createDataFunction<GetThreatsArgs, GetThreatsResult>(definitions.getThreats);
const threatsByMessage = createDataFunction<GetThreatsByInternetMessageIdArgs, GetThreatsResult>(
  definitions.getThreatsByInternetMessageId,
);

/** The tenant's detected threats of the last time, by `GET /api/v1/threats`. */
export function getThreats(args: GetThreatsArgs = {}, opts?: FunctionOptions): Promise<GetThreatsResult> {
  return threats.plain(args, opts);
}

/** {@link getThreats} as an output, by `GET /api/v1/threats`. */
export function getThreatsOutput(
  args: OutputArgs<GetThreatsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsResult> {
  return threats.output(args, opts);
}

/** The threats that share an Internet Message ID, by `GET /api/v1/threats/by_internet_message_id/{id}`. */
export function getThreatsByInternetMessageId(
  args: GetThreatsByInternetMessageIdArgs,
  opts?: FunctionOptions,
): Promise<GetThreatsResult> {
  return threatsByMessage.plain(args, opts);
}

/** {@link getThreatsByInternetMessageId} as an output, by `GET /api/v1/threats/by_internet_message_id/{id}`. */
export function getThreatsByInternetMessageIdOutput(
  args: OutputArgs<GetThreatsByInternetMessageIdArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsResult> {
  return threatsByMessage.output(args, opts);
}
