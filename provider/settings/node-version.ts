import { nodeTooOld } from "./node-requirement";

/*
 * Every entry point of a separate process imports this first. On an older Node.js, later imports fail with misleading errors.
 */

const nodeProblem = nodeTooOld();
if (nodeProblem !== undefined) throw new Error(nodeProblem);
