import type * as pulumi from "@pulumi/pulumi";

/** Arguments that may each be an output. */
export type OutputArgs<Args> = {
  readonly [Name in keyof Args]: pulumi.Input<NonNullable<Args[Name]>> | undefined;
};
