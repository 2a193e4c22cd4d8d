import type * as pulumi from "@pulumi/pulumi";

/** Arguments of which each may be an output. */
export type OutputArgs<Args> = {
  readonly [Name in keyof Args]: pulumi.Input<NonNullable<Args[Name]>> | undefined;
};
