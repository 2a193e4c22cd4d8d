/** Types are the same only when neither has a property, an option or a `readonly` that the other lacks. */
export type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
