import type * as pulumi from "@pulumi/pulumi";
import type { VipEmployeeRow } from "../../client";
import type { CamelCased } from "./camel-case";
import { createDataFunction, type FunctionOptions } from "./data-function";
import * as definitions from "./definitions";

/** The result of {@link getVipEmployees}. */
export interface GetVipEmployeesResult {
  /** All VIPs, automatic and manual; one without a mailbox has no `email`. */
  readonly vipEmployees: CamelCased<VipEmployeeRow>[];
}

const vipEmployees = createDataFunction<Record<string, never>, GetVipEmployeesResult>(definitions.getVipEmployees);

/** Returns the tenant's VIP employees: `GET /api/v1/settings/vip_employees`. */
export function getVipEmployees(
  args: Record<string, never> = {},
  opts?: FunctionOptions,
): Promise<GetVipEmployeesResult> {
  return vipEmployees.plain(args, opts);
}

/** {@link getVipEmployees} as an output: `GET /api/v1/settings/vip_employees`. */
export function getVipEmployeesOutput(
  args: Record<string, never> = {},
  opts?: FunctionOptions,
): pulumi.Output<GetVipEmployeesResult> {
  return vipEmployees.output(args, opts);
}
