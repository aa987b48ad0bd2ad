import { useSignal } from '@preact/signals';
import { messageOf } from './client.ts';

/** A change that a person starts: one at a time, with the message of its failure. */
export function useAction() {
  const failure = useSignal<string | undefined>(undefined);
  const isRunning = useSignal(false);
  return {
    failure: failure.value,
    isRunning: isRunning.value,
    /** Runs it, and keeps the message when it fails. @returns whether it succeeded */
    async run(work: () => Promise<unknown>): Promise<boolean> {
      isRunning.value = true;
      failure.value = undefined;
      try {
        await work();
        return true;
      } catch (error) {
        failure.value = messageOf(error);
        return false;
      } finally {
        isRunning.value = false;
      }
    },
  };
}
