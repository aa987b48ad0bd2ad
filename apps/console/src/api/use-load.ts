import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { CallFailure, messageOf } from './client.ts';

/** The state of a load. Earlier data of the same inputs stays while it is loaded again. */
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

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.every((input, place) => Object.is(input, other[place]));

/**
 * Loads when the component is first shown, and when an input or an occasion changes; an answer that is out of date is
 * dropped.
 * @param inputs decide what is loaded: data of others is not returned
 * @param occasions to load the same again
 */
export function useLoad<Data>(
  load: () => Promise<Data>,
  inputs: readonly unknown[],
  occasions: readonly unknown[] = [],
): Loaded<Data> {
  const state = useSignal<State<Data>>({ inputs });
  const attempt = useSignal(0);
  const known = (): State<Data> => (isSame(state.value.inputs, inputs) ? state.value : { inputs });
  useEffect(() => {
    let isCurrent = true;
    state.value = { inputs, data: known().data, isLoading: true };
    load().then(
      (loaded) => {
        if (isCurrent) state.value = { inputs, data: loaded, isLoading: false };
      },
      (error: unknown) => {
        const code = error instanceof CallFailure ? error.code : undefined;
        const failed = { failure: messageOf(error), code, isLoading: false };
        if (isCurrent) state.value = { inputs, data: known().data, ...failed };
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, ...occasions, attempt.value]);
  const reload = () => {
    attempt.value += 1;
  };
  const { data, failure, code, isLoading = true } = known();
  return { data, failure, code, isLoading, reload };
}
