import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { CallFailure, messageOf } from './client.ts';

/** The state of a load. Data of the same inputs stays while it is reloaded. */
export interface Loaded<Data> {
  readonly data: Data | undefined;
  /** The message of the failure of the last attempt. */
  readonly failure: string | undefined;
  /** Its code, of a call that was refused. */
  readonly code: string | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

interface State<Data> extends Partial<Omit<Loaded<Data>, 'reload'>> {
  readonly inputs: readonly unknown[];
}

const areEqual = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.every((input, index) => Object.is(input, other[index]));

/**
 * Loads when the component is first shown, and when an input or a trigger changes; an outdated answer is dropped.
 * @param inputs decide what is loaded: data of earlier inputs is not returned
 * @param triggers reload the same data when they change; until then the earlier data is returned
 */
export function useLoad<Data>(
  load: () => Promise<Data>,
  inputs: readonly unknown[],
  triggers: readonly unknown[] = [],
): Loaded<Data> {
  const state = useSignal<State<Data>>({ inputs });
  const attempt = useSignal(0);
  const current = (): State<Data> => (areEqual(state.value.inputs, inputs) ? state.value : { inputs });
  useEffect(() => {
    let isCurrent = true;
    state.value = { inputs, data: current().data, isLoading: true };
    load().then(
      (loaded) => {
        if (isCurrent) state.value = { inputs, data: loaded, isLoading: false };
      },
      (error: unknown) => {
        const code = error instanceof CallFailure ? error.code : undefined;
        const failed = { failure: messageOf(error), code, isLoading: false };
        if (isCurrent) state.value = { inputs, data: current().data, ...failed };
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, ...triggers, attempt.value]);
  const reload = () => {
    attempt.value += 1;
  };
  const { data, failure, code, isLoading = true } = current();
  return { data, failure, code, isLoading, reload };
}
