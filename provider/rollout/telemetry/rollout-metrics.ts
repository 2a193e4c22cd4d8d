import type { Counter, Histogram, Meter, UpDownCounter } from "@opentelemetry/api";
import { excerpt } from "../../settings/text";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";
import type { TenantState } from "../wave";

/** How many tenants came to which end, how long each took, how many are being changed: by wave. */
export class RolloutMetrics {
  readonly #report: RolloutReport;
  readonly #tenants: Counter;
  readonly #durations: Histogram;
  readonly #running: UpDownCounter;
  /** The wave of each that runs. */
  readonly #waves = new Map<string, string>();

  constructor(meter: Meter, report: RolloutReport) {
    this.#report = report;
    this.#tenants = meter.createCounter("email_security.rollout.tenants", {
      unit: "{tenant}",
      description: "Tenants that are through, by wave and state",
    });
    this.#durations = meter.createHistogram("email_security.rollout.tenant.duration", {
      unit: "s",
      description: "How long changing a tenant took",
      advice: { explicitBucketBoundaries: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800] },
    });
    this.#running = meter.createUpDownCounter("email_security.rollout.tenants.running", {
      unit: "{tenant}",
      description: "Tenants that are being changed",
    });
  }

  happened(event: RolloutEvent): void {
    switch (event.kind) {
      case "started":
        // A run that goes on has told them before.
        if (!event.resumed) this.#count(this.#report, "unchanged");
        return;
      case "tenant-started":
        if (this.#waves.has(event.tenant)) return;
        this.#waves.set(event.tenant, event.wave);
        this.#running.add(1, of(event.wave));
        return;
      case "tenant-finished": {
        const { tenant, wave, state, durationMs, error } = event;
        this.#leave(tenant);
        this.#tenants.add(1, { ...of(wave), "email_security.tenant.state": state });
        if (error?.phase !== "plan") {
          this.#durations.record(durationMs / 1_000, { ...of(wave), "email_security.tenant.state": state });
        }
        return;
      }
    }
  }

  end(report: RolloutReport): void {
    for (const tenant of this.#waves.keys()) this.#leave(tenant);
    this.#count(report, "pending");
  }

  #leave(tenant: string): void {
    const wave = this.#waves.get(tenant);
    if (wave !== undefined) this.#running.add(-1, of(wave));
    this.#waves.delete(tenant);
  }

  #count({ waves }: RolloutReport, state: TenantState): void {
    for (const { name, counts } of waves) {
      if (counts[state] > 0) {
        this.#tenants.add(counts[state], { ...of(name), "email_security.tenant.state": state });
      }
    }
  }
}

function of(wave: string) {
  return { "email_security.wave.name": excerpt(wave, 200) };
}
