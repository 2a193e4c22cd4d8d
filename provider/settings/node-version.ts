import { nodeTooOld } from "./node-requirement";

/*
 * Imported first by everything that starts a process of its own: on an older Node.js what comes after fails in ways
 * that tell nobody why.
 */

const refusal = nodeTooOld();
if (refusal !== undefined) throw new Error(refusal);
