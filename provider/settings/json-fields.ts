import { z } from "zod";

export const jsonTextField = (description: string) => z.string().describe(description);

export const jsonCountField = (description: string) => z.int().min(0).describe(description);

export const jsonTimeField = (description: string) => z.string().describe(`${description} (ISO 8601, UTC).`);
