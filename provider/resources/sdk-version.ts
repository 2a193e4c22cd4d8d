import { version } from "@pulumi/pulumi/package.json";
import { getSdkVersionProblem } from "../settings/sdk-requirement";

/*
 * Imported by what runs in programs, before all that needs the SDK: npm only warns of a version that won't do, once, and what
 * comes after fails in ways that tell nobody why.
 */

const sdkProblem = getSdkVersionProblem(version);
if (sdkProblem !== undefined) throw new Error(sdkProblem);
