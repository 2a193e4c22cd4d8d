import type { RolloutRecord } from "../rollout/journal/journal";
import type { PlannedRollout } from "../rollout/plan-rollout";
import { overviewText } from "../rollout/report/overview-text";
import type { RolloutEvent } from "../rollout/report/rollout-event";
import type { RolloutReport } from "../rollout/report/rollout-report";
import { harmless } from "../settings/text";
import { writeOutput } from "./command-line";
import type { RolloutOutput } from "./rollout-command";

/** Tells how far the planning is: on a terminal in a line that is written over, else now and then. */
export function planningProgress(): {
  planned: (planned: number, of: number) => void;
  end: () => void;
} {
  const isTerminal = process.stderr.isTTY === true;
  let told = 0;
  return {
    planned(planned, of) {
      if (isTerminal) process.stderr.write(`\rPlanning ${planned}/${of} tenants …`);
      else if (planned - told >= 50 || (planned === of && of > told)) {
        told = planned;
        console.error(`Planned ${planned}/${of} tenants.`);
      }
    },
    end() {
      if (isTerminal) process.stderr.write("\r\u001b[K");
    },
  };
}

/** What a rollout would do. */
export function printedOverview(report: RolloutReport, guards: PlannedRollout["guards"]): string {
  return overviewText(report, guards);
}

export function printedReport(report: RolloutReport): string {
  return `${JSON.stringify(report, null, 1)}\n`;
}

export function printedList(records: readonly RolloutRecord[]): string {
  return records.map(({ id, state, spec }) => `${id}  ${state}  ${spec.source}\n`).join("");
}

export function writeReportFiles(report: RolloutReport, { json }: RolloutOutput): void {
  if (json !== undefined) writeOutput(json, JSON.stringify(report), "report");
}

/** What is shown while a rollout runs. */
export class RolloutScreen {
  static start(_report: RolloutReport, _output: RolloutOutput): Promise<RolloutScreen> {
    return Promise.resolve(new RolloutScreen());
  }
  happened(event: RolloutEvent): void {
    console.log(harmless(JSON.stringify(event)));
  }
  say(line: string): void {
    console.error(line);
  }
  end(_report: RolloutReport): Promise<void> {
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}
