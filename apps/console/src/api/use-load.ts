import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { CallFailure, messageOf } from './client.ts';

/** The state of a load. Earlier data stays while it is loaded again. */
export interface Loaded<Data> {
  readonly data: Data | undefined;
  /** The message of the failure of the last attempt. */
  readonly failure: string | undefined;
  /** Its code, of a call that was refused. */
  readonly code: string | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** Loads when the component is first shown, and when an input changes; an answer that is out of date is dropped. */
export function useLoad<Data>(load: () => Promise<Data>, inputs: readonly unknown[]): Loaded<Data> {
  const state = useSignal<Partial<Omit<Loaded<Data>, 'reload'>>>({});
  const attempt = useSignal(0);
  useEffect(() => {
    let isCurrent = true;
    state.value = { data: state.value.data, isLoading: true };
    load().then(
      (loaded) => {
        if (isCurrent) state.value = { data: loaded, isLoading: false };
      },
      (error: unknown) => {
        const code = error instanceof CallFailure ? error.code : undefined;
        if (isCurrent) state.value = { data: state.value.data, failure: messageOf(error), code, isLoading: false };
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, attempt.value]);
  const reload = () => {
    attempt.value += 1;
  };
  const { data, failure, code, isLoading = true } = state.value;
  return { data, failure, code, isLoading, reload };
}
