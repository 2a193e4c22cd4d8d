import type * as pulumi from "@pulumi/pulumi";
import type { Threat } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { OutputArgs } from "./output-args";

/** The arguments of {@link getThreats}. */
export interface GetThreatsArgs {
  /** The look-back window in minutes. Default: one week. */
  readonly minutesAgo?: number;
  /** The maximum number of threats, in the order of the service. Default: all in the window. */
  readonly limit?: number;
}

/** The arguments of {@link getThreatsByInternetMessageId}. */
export interface GetThreatsByInternetMessageIdArgs {
  /** The Internet Message ID as in the message: `<…@…>`. */
  readonly internetMessageId: string;
}

/** The result of the functions about threats. */
export interface GetThreatsResult {
  /** The threats, in the order of the service. */
  readonly threats: CamelCased<Threat>[];
}

const threats = createDataFunction<GetThreatsArgs, GetThreatsResult>(definitions.getThreats);
const threatsByMessage = createDataFunction<GetThreatsByInternetMessageIdArgs, GetThreatsResult>(
  definitions.getThreatsByInternetMessageId,
);

/** Returns the tenant's recently detected threats: `GET /api/v1/threats`. */
export function getThreats(args: GetThreatsArgs = {}, opts?: FunctionOptions): Promise<GetThreatsResult> {
  return threats.plain(args, opts);
}

/** {@link getThreats} as an output: `GET /api/v1/threats`. */
export function getThreatsOutput(
  args: OutputArgs<GetThreatsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsResult> {
  return threats.output(args, opts);
}

/** Returns the threats that share an Internet Message ID: `GET /api/v1/threats/by_internet_message_id/{id}`. */
export function getThreatsByInternetMessageId(
  args: GetThreatsByInternetMessageIdArgs,
  opts?: FunctionOptions,
): Promise<GetThreatsResult> {
  return threatsByMessage.plain(args, opts);
}

/** {@link getThreatsByInternetMessageId} as an output: `GET /api/v1/threats/by_internet_message_id/{id}`. */
export function getThreatsByInternetMessageIdOutput(
  args: OutputArgs<GetThreatsByInternetMessageIdArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetThreatsResult> {
  return threatsByMessage.output(args, opts);
}
