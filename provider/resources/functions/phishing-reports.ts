import type * as pulumi from "@pulumi/pulumi";
import type { PhishingReport, PhishingReportDetail } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { GetMetricsArgs } from "./metrics";
import type { OutputArgs } from "./output-args";

/** The arguments of {@link getPhishingReports}. */
export interface GetPhishingReportsArgs {
  /** The look-back window in minutes. Default: thirty days. */
  readonly minutesAgo?: number;
  /** The maximum number of reports, in the order of the service. Default: all in the window. */
  readonly limit?: number;
}

/** The result of the functions about lists of phishing reports. */
export interface GetPhishingReportsResult {
  /** The reports, in the order of the service. */
  readonly reports: CamelCased<PhishingReport>[];
}

/** The arguments of {@link getPhishingReport}. */
export interface GetPhishingReportArgs {
  /** The id of the report. */
  readonly id: string;
}

/** The result of {@link getPhishingReport}: the report with its recipients and content. */
export type GetPhishingReportResult = CamelCased<PhishingReportDetail>;

/** The arguments of {@link getPhishingReportsByReportInternetMessageId}. */
export interface GetPhishingReportsByReportInternetMessageIdArgs {
  /** The Internet Message ID of the report mail itself. */
  readonly internetMessageId: string;
}

/** The result of {@link getMeanTimeToAnalyze}. */
export interface GetMeanTimeToAnalyzeResult {
  /** The mean time to analyze a report; undefined if the service reports none. */
  readonly seconds: number | undefined;
}

const reports = createDataFunction<GetPhishingReportsArgs, GetPhishingReportsResult>(definitions.getPhishingReports);
const report = createDataFunction<GetPhishingReportArgs, GetPhishingReportResult>(definitions.getPhishingReport);
const reportsByMessage = createDataFunction<GetPhishingReportsByReportInternetMessageIdArgs, GetPhishingReportsResult>(
  definitions.getPhishingReportsByReportInternetMessageId,
);
const meanTimeToAnalyze = createDataFunction<GetMetricsArgs, GetMeanTimeToAnalyzeResult>(
  definitions.getMeanTimeToAnalyze,
);

/**
 * Returns the messages that users reported as phishing, with the result of the analysis: `GET
 * /api/v1/sonar/phishing-reports`.
 */
export function getPhishingReports(
  args: GetPhishingReportsArgs = {},
  opts?: FunctionOptions,
): Promise<GetPhishingReportsResult> {
  return reports.plain(args, opts);
}

/** {@link getPhishingReports} as an output: `GET /api/v1/sonar/phishing-reports`. */
export function getPhishingReportsOutput(
  args: OutputArgs<GetPhishingReportsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportsResult> {
  return reports.output(args, opts);
}

/** Returns one phishing report with its recipients and content: `GET /api/v1/sonar/phishing-reports/{id}`. */
export function getPhishingReport(
  args: GetPhishingReportArgs,
  opts?: FunctionOptions,
): Promise<GetPhishingReportResult> {
  return report.plain(args, opts);
}

/** {@link getPhishingReport} as an output: `GET /api/v1/sonar/phishing-reports/{id}`. */
export function getPhishingReportOutput(
  args: OutputArgs<GetPhishingReportArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportResult> {
  return report.output(args, opts);
}

/**
 * Returns the reports made by one message of a reporting user: `GET
 * /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`.
 */
export function getPhishingReportsByReportInternetMessageId(
  args: GetPhishingReportsByReportInternetMessageIdArgs,
  opts?: FunctionOptions,
): Promise<GetPhishingReportsResult> {
  return reportsByMessage.plain(args, opts);
}

/**
 * {@link getPhishingReportsByReportInternetMessageId} as an output: `GET
 * /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`.
 */
export function getPhishingReportsByReportInternetMessageIdOutput(
  args: OutputArgs<GetPhishingReportsByReportInternetMessageIdArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportsResult> {
  return reportsByMessage.output(args, opts);
}

/** Returns the mean time to analyze a phishing report: `GET /api/v1/sonar/phishing-reports/aggs/mttr`. */
export function getMeanTimeToAnalyze(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetMeanTimeToAnalyzeResult> {
  return meanTimeToAnalyze.plain(args, opts);
}

/** {@link getMeanTimeToAnalyze} as an output: `GET /api/v1/sonar/phishing-reports/aggs/mttr`. */
export function getMeanTimeToAnalyzeOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetMeanTimeToAnalyzeResult> {
  return meanTimeToAnalyze.output(args, opts);
}
