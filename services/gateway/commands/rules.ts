import type { FlespiCommand, TextCommand } from '@odograph/contracts/device-models';

/** Characters of a reason that the command service takes. */
const longestReason = 256;

/** Converts text from a device to a reason: one printable line of limited length. */
export function reasonOf(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, longestReason);
}

/** What an answer means; undefined when it means nothing to the model. */
export function judgeAnswer(
  { success, refusal }: Pick<TextCommand | FlespiCommand, 'success' | 'refusal'>,
  text: string,
  isRefused: boolean,
): 'success' | 'refusal' | undefined {
  const answer = text.toLowerCase();
  const contains = (part: string): boolean => answer.includes(part.toLowerCase());
  if (isRefused || refusal.some(contains)) return 'refusal';
  return success === undefined || success.some(contains) ? 'success' : undefined;
}
