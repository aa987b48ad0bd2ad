import type { TextCommand } from '@odograph/contracts/device-models';

/** What an answer means; undefined when it means nothing to the model. */
export function judgeAnswer(command: TextCommand, text: string, isRefused: boolean): 'success' | 'refusal' | undefined {
  const answer = text.toLowerCase();
  const contains = (part: string): boolean => answer.includes(part.toLowerCase());
  if (isRefused || command.refusal.some(contains)) return 'refusal';
  return command.success.some(contains) ? 'success' : undefined;
}
