import type { FrontName } from "../../resources/resource-type";
import type { StackMarker } from "../model/stack-marker";

/** One `pulumi up` of a tenant, as an engine process is asked for it. */
export interface UpRequest {
  readonly stack: string;
  /** Whether the stack was there when the rollout was planned. */
  readonly isThere: boolean;
  /** Whether an engine may have been killed in the middle of the stack, so that its state has to be looked at. */
  readonly mayBePending: boolean;
  /** The name of the `TenantSettings`. */
  readonly resource: string;
  /** What its lists are made over. */
  readonly front: FrontName;
  /** The settings file, relative to `folder`. */
  readonly settings: string;
  /** One that is declared before it, and changes nothing at the service. */
  readonly first?: string;
  /** The only resources that it may change, by their URNs; the service is not looked at then, so that what else differs stays. */
  readonly targets?: readonly string[];
  /** What the stack's state is to say of its last rollout. Absent: nothing. */
  readonly marker?: StackMarker;
  /** The day (UTC) by which `expires` is judged. */
  readonly today: string;
  /** The working folder: that of the project. */
  readonly folder: string;
  /** The `pulumi` program. */
  readonly command: string;
  /** Its version. */
  readonly version: string;
  /** The whole environment of the CLI, and with it of the provider. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How it went. */
export type UpResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Whether another run of Pulumi has the stack. */
      readonly isLocked: boolean;
      /** The errors that the engine told, as text without colours; else the last of what the CLI printed. */
      readonly message: string;
    };

/** What an engine process is told. */
export type ToEngineProcess =
  | { readonly kind: "up"; readonly request: UpRequest }
  | { readonly kind: "cancel" };

/** What it tells. */
export interface FromEngineProcess {
  readonly kind: "result";
  readonly result: UpResult;
  /** Whether something of this tenant is still under way there, beside which no other tenant is to be served. */
  readonly isSpent: boolean;
}
