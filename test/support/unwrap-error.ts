/** Joins the lines of wrapped error messages, whose continuation lines start below the text of the first one. */
export function unwrapError(output: string): string {
  return output.replaceAll(/^error: .*/gms, (message) => message.replaceAll(/\n {7}(?=\S)/g, " "));
}
