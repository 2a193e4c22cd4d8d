import {
  type Attributes,
  type Context,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { excerpt } from "../../settings/text";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport, TenantReport } from "../report/rollout-report";

/**
 * A span for the run of a rollout, one for each wave in it, and one for each time a tenant is begun, with the times of
 * the events.
 */
export class RolloutTrace {
  readonly #tracer: Tracer;
  readonly #parent: Context;
  readonly #report: RolloutReport;
  readonly #tenants: ReadonlyMap<string, TenantReport>;
  readonly #waves = new Map<string, Opened>();
  readonly #running = new Map<string, Opened>();
  #rollout: Opened | undefined;
  #last: Date | undefined;

  /** @param parent whose part the rollout is. */
  constructor(tracer: Tracer, parent: Context, report: RolloutReport) {
    this.#tracer = tracer;
    this.#parent = parent;
    this.#report = report;
    this.#tenants = new Map(report.tenants.map((tenant) => [tenant.name, tenant]));
  }

  happened(event: RolloutEvent): void {
    const at = timeOf(event.at);
    this.#last = at ?? this.#last;
    this.#rollout ??= this.#open("rollout", this.#parent, at, {
      "email_security.rollout.id": short(this.#report.id),
      "email_security.rollout.digest": short(this.#report.digest),
      "email_security.rollout.tenants": this.#report.tenants.length,
    });
    const rollout = this.#rollout;
    switch (event.kind) {
      case "wave-started":
        this.#wave(event.wave, rollout, at);
        return;
      case "tenant-started": {
        // Who began it before has died.
        this.#closeTenant(event.tenant, "taken over", at);
        const { host, stack } = this.#tenants.get(event.tenant) ?? {};
        const tenant = this.#open(
          `tenant ${short(event.tenant)}`,
          this.#wave(event.wave, rollout, at).within,
          at,
          {
            "email_security.tenant.name": short(event.tenant),
            "email_security.wave.name": short(event.wave),
            "email_security.tenant.attempt": event.attempt,
            "email_security.worker": short(event.worker),
            ...(host !== undefined && { "server.address": short(host) }),
            ...(stack !== undefined && { "pulumi.stack": short(stack) }),
          },
        );
        this.#running.set(event.tenant, tenant);
        return;
      }
      case "tenant-finished":
        this.#closeTenant(event.tenant, event.state, at, event.error?.code);
        return;
      case "wave-finished":
        this.#closeWave(event.wave, "done", event.failed > 0, at);
        return;
    }
  }

  /** Ends what is open. */
  end({ state, counts, waves }: RolloutReport): void {
    for (const tenant of this.#running.keys()) this.#closeTenant(tenant, "interrupted", this.#last);
    for (const { name, state: known, counts: of } of waves)
      this.#closeWave(name, known, of.failed > 0, this.#last);
    const rollout = this.#rollout;
    this.#rollout = undefined;
    if (rollout === undefined) return;
    rollout.span.setAttributes({
      "email_security.rollout.state": state,
      "email_security.rollout.done": counts.done,
      "email_security.rollout.unchanged": counts.unchanged,
      "email_security.rollout.failed": counts.failed,
    });
    close(rollout, state === "stopped" || counts.failed > 0, this.#last);
  }

  /** The span of a wave; one that an earlier run began begins here again. */
  #wave(name: string, rollout: Opened, at: Date | undefined): Opened {
    const known = this.#waves.get(name);
    if (known !== undefined) return known;
    const wave = this.#open(`wave ${short(name)}`, rollout.within, at, {
      "email_security.wave.name": short(name),
    });
    this.#waves.set(name, wave);
    return wave;
  }

  #closeWave(name: string, state: string, isBad: boolean, at: Date | undefined): void {
    const wave = this.#waves.get(name);
    this.#waves.delete(name);
    wave?.span.setAttribute("email_security.wave.state", state);
    close(wave, isBad, at);
  }

  #closeTenant(name: string, state: string, at: Date | undefined, code?: string): void {
    const tenant = this.#running.get(name);
    this.#running.delete(name);
    tenant?.span.setAttribute("email_security.tenant.state", state);
    if (code !== undefined) tenant?.span.setAttribute("error.type", short(code));
    close(tenant, state === "failed", at);
  }

  #open(name: string, parent: Context, startTime: Date | undefined, attributes: Attributes): Opened {
    const span = this.#tracer.startSpan(
      name,
      { attributes, ...(startTime !== undefined && { startTime }) },
      parent,
    );
    return { span, within: trace.setSpan(parent, span) };
  }
}

interface Opened {
  readonly span: Span;
  /** For what is a part of it. */
  readonly within: Context;
}

function close(opened: Opened | undefined, isBad: boolean, at: Date | undefined): void {
  if (isBad) opened?.span.setStatus({ code: SpanStatusCode.ERROR });
  opened?.span.end(at);
}

function timeOf(text: string): Date | undefined {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function short(text: string): string {
  return excerpt(text, 200);
}
