import type { DatabaseSync } from "node:sqlite";
import { SandboxError } from "../contract/errors";
import { getScenario, scenarioNames } from "../scenarios";
import type { Scenario } from "../scenarios/scenario";
import { AllowDenyEntryStore } from "./allow-deny-entries";
import { AuditLog } from "./audit-log";
import { openSandboxDatabase, runTransaction } from "./database";
import { type MailOptions, MailStore } from "./mail-store";
import { PhishingReportStore } from "./phishing-reports";
import { getSeededScenario, seedDatabase } from "./seed";
import { TenantStore } from "./tenants";
import { ThreatStore } from "./threats";
import { detectVips, VipEmployeeStore } from "./vip-employees";

export interface Store {
  tenants: TenantStore;
  vipEmployees: VipEmployeeStore;
  allowDenyEntries: AllowDenyEntryStore;
  threats: ThreatStore;
  phishingReports: PhishingReportStore;
  audit: AuditLog;
  close(): void;
}

/**
 * Opens the store. A new one is seeded with the scenario; an existing one keeps its data.
 *
 * @throws SandboxError `ERR_SANDBOX_DATA_FILE` if the file can't be used; `ERR_SANDBOX_SCENARIO` if the scenario is
 * unknown or isn't the one that the file was seeded with; `ERR_SANDBOX_OPTION` if the number of threats differs from
 * that in the file.
 */
export function openStore(options: {
  data?: string;
  scenario?: string | Scenario;
  mail: MailOptions;
  at: string;
}): Store {
  const scenario =
    typeof options.scenario === "object" ? options.scenario : getScenario(options.scenario ?? scenarioNames[0] ?? "");
  const database = openSandboxDatabase(options.data, (newDatabase) => seedDatabase(newDatabase, scenario));
  try {
    if (options.scenario !== undefined) assertSeededScenario(database, scenario, options.data);
    runTransaction(database, () => detectVips(database, options.at));
    const audit = new AuditLog(database);
    const mail = new MailStore(database, options.mail);
    return {
      tenants: new TenantStore(database),
      vipEmployees: new VipEmployeeStore(database, audit),
      allowDenyEntries: new AllowDenyEntryStore(database, audit),
      threats: new ThreatStore(database, mail),
      phishingReports: new PhishingReportStore(database, mail),
      audit,
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Ensures that the file contains the requested scenario and not the data of another. */
function assertSeededScenario(database: DatabaseSync, scenario: Scenario, file: string | undefined): void {
  const seededScenario = getSeededScenario(database);
  if (seededScenario === scenario.name) return;
  throw new SandboxError(
    "ERR_SANDBOX_SCENARIO",
    `The data file ${file} was seeded with scenario ${seededScenario}, not ${scenario.name}. Omit the scenario to continue with its data, or specify another file.`,
  );
}
