import type * as pulumi from "@pulumi/pulumi";
import type { PhishingReport, PhishingReportDetail } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";
import type { GetMetricsArgs } from "./metrics";
import type { OutputArgs } from "./output-args";

/** The arguments of {@link getPhishingReports}. */
export interface GetPhishingReportsArgs {
  /** How far to look back, in minutes. Default: thirty days. */
  readonly minutesAgo?: number;
  /** How many reports at most, the newest as the service orders them. Default: all of the window. */
  readonly limit?: number;
}

/** What the functions about lists of phishing reports answer. */
export interface GetPhishingReportsResult {
  /** The reports, in the order of the service. */
  readonly reports: CamelCased<PhishingReport>[];
}

/** The arguments of {@link getPhishingReport}. */
export interface GetPhishingReportArgs {
  /** The id of the report. */
  readonly id: string;
}

/** What {@link getPhishingReport} answers: the report with its recipients and content. */
export type GetPhishingReportResult = CamelCased<PhishingReportDetail>;

/** The arguments of {@link getPhishingReportsByReportInternetMessageId}. */
export interface GetPhishingReportsByReportInternetMessageIdArgs {
  /** The Internet Message ID of the report mail itself. */
  readonly internetMessageId: string;
}

/** What {@link getMeanTimeToAnalyze} answers. */
export interface GetMeanTimeToAnalyzeResult {
  /** The mean time to analyze a report; undefined where the service says there is none. */
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

/** What users reported as phishing, and what the analysis said, by `GET /api/v1/sonar/phishing-reports`. */
export function getPhishingReports(
  args: GetPhishingReportsArgs = {},
  opts?: FunctionOptions,
): Promise<GetPhishingReportsResult> {
  return reports.plain(args, opts);
}

/** {@link getPhishingReports} as an output, by `GET /api/v1/sonar/phishing-reports`. */
export function getPhishingReportsOutput(
  args: OutputArgs<GetPhishingReportsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportsResult> {
  return reports.output(args, opts);
}

/** One phishing report with its recipients and content, by `GET /api/v1/sonar/phishing-reports/{id}`. */
export function getPhishingReport(
  args: GetPhishingReportArgs,
  opts?: FunctionOptions,
): Promise<GetPhishingReportResult> {
  return report.plain(args, opts);
}

/** {@link getPhishingReport} as an output, by `GET /api/v1/sonar/phishing-reports/{id}`. */
export function getPhishingReportOutput(
  args: OutputArgs<GetPhishingReportArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportResult> {
  return report.output(args, opts);
}

/** The reports that one mail of a reporting user made, by
 * `GET /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`. */
export function getPhishingReportsByReportInternetMessageId(
  args: GetPhishingReportsByReportInternetMessageIdArgs,
  opts?: FunctionOptions,
): Promise<GetPhishingReportsResult> {
  return reportsByMessage.plain(args, opts);
}

/** {@link getPhishingReportsByReportInternetMessageId} as an output, by `GET /api/v1/sonar/phishing-reports/by_report_internet_message_id/{internet_message_id}`. */
export function getPhishingReportsByReportInternetMessageIdOutput(
  args: OutputArgs<GetPhishingReportsByReportInternetMessageIdArgs>,
  opts?: FunctionOptions,
): pulumi.Output<GetPhishingReportsResult> {
  return reportsByMessage.output(args, opts);
}

/** The mean time to analyze a phishing report, by `GET /api/v1/sonar/phishing-reports/aggs/mttr`. */
export function getMeanTimeToAnalyze(
  args: GetMetricsArgs = {},
  opts?: FunctionOptions,
): Promise<GetMeanTimeToAnalyzeResult> {
  return meanTimeToAnalyze.plain(args, opts);
}

/** {@link getMeanTimeToAnalyze} as an output, by `GET /api/v1/sonar/phishing-reports/aggs/mttr`. */
export function getMeanTimeToAnalyzeOutput(
  args: OutputArgs<GetMetricsArgs> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetMeanTimeToAnalyzeResult> {
  return meanTimeToAnalyze.output(args, opts);
}
