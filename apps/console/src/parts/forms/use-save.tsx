import { useSignal } from '@preact/signals';
import { CallFailure } from '../../api/client.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';

/** The state that another person gave the thing of a form; undefined if it is deleted. */
type Conflict<Thing> = { readonly theirs: Thing | undefined };

/** The saving of a form. */
export interface Saving<Thing> {
  readonly isBusy: boolean;
  readonly failure: CallFailure | undefined;
  readonly conflict: Conflict<Thing> | undefined;
  /** The version that the form starts from; undefined for a new thing. */
  readonly base: Thing | undefined;
  /** Runs a change, such as that of the whole form, and what follows its success. */
  run(change: () => Promise<unknown>, onDone: () => void): void;
  /**
   * Runs a change of an existing thing, unless another person changed it since the form was opened: then there is a conflict.
   * @param load finds the thing as it is now
   * @param change receives the thing as it is now
   */
  runUnlessChanged(
    load: () => Promise<Thing | undefined>,
    change: (current: Thing) => Promise<unknown>,
    onDone: () => void,
  ): void;
  /** Accepts the state of the other person as what the form changes. */
  accept(): void;
  /** Makes a saved version the base of the next change. */
  rebase(saved: Thing): void;
}

/**
 * Saves a form once at a time.
 * @param original the thing as the form was opened with it; undefined for a new one
 * @param write writes what a change by another person would change
 */
export function useSave<Thing>(
  original: Thing | undefined,
  write: (thing: Thing) => string = JSON.stringify,
): Saving<Thing> {
  const state = useSignal<{ failure?: CallFailure; conflict?: Conflict<Thing>; isBusy: boolean }>({ isBusy: false });
  const base = useSignal(original);
  const run = async (work: () => Promise<Conflict<Thing> | undefined>, onDone: () => void) => {
    state.value = { isBusy: true };
    try {
      const conflict = await work();
      state.value = { isBusy: false, ...(conflict && { conflict }) };
      if (!conflict) onDone();
    } catch (error) {
      const failure = error instanceof CallFailure ? error : new CallFailure('UNREACHABLE', String(error));
      state.value = { isBusy: false, failure };
    }
  };
  const { isBusy, failure, conflict } = state.value;
  return {
    isBusy,
    failure,
    conflict,
    base: base.value,
    run: (change, onDone) => void run(() => change().then(() => undefined), onDone),
    runUnlessChanged(load, change, onDone) {
      const work = async () => {
        const theirs = await load();
        if (theirs === undefined || base.value === undefined || write(theirs) !== write(base.value)) return { theirs };
        await change(theirs);
        return undefined;
      };
      void run(work, onDone);
    },
    accept() {
      base.value = state.value.conflict?.theirs;
      state.value = { isBusy: false };
    },
    rebase: (saved) => assign(base, saved),
  };
}

interface ConflictNoticeOptions<Thing> {
  readonly saving: Saving<Thing>;
  /** Names what a person sees of a thing. */
  readonly describe: (thing: Thing) => Readonly<Record<string, string>>;
  /** Replaces what was typed with the state of the other person. */
  readonly onTheirs: (theirs: Thing) => void;
}

/** Shows the changes of another person, and lets the person choose a version. */
export function ConflictNotice<Thing>({ saving, describe, onTheirs }: ConflictNoticeOptions<Thing>) {
  const { conflict: text } = texts.value;
  if (!saving.conflict) return null;
  const { theirs } = saving.conflict;
  if (theirs === undefined) {
    return (
      <p class="notice wrong" role="alert">
        {text.deleted}
      </p>
    );
  }
  const before = saving.base === undefined ? {} : describe(saving.base);
  const takeTheirs = () => {
    saving.accept();
    onTheirs(theirs);
  };
  const changed = Object.entries(describe(theirs)).filter(([name, value]) => before[name] !== value);
  return (
    <div class="notice late conflict" role="alert">
      <strong>{text.title}</strong>
      <dl>
        {changed.map(([name, value]) => [
          <dt key={name}>{name}</dt>,
          <dd key={`${name} value`}>
            <s>{before[name] ?? '–'}</s>
            {` → ${value}`}
          </dd>,
        ])}
      </dl>
      <div class="row">
        <Button onClick={takeTheirs}>{text.useTheirs}</Button>
        <Button onClick={saving.accept}>{text.keepMine}</Button>
      </div>
    </div>
  );
}

interface FormEndOptions<Thing> extends ConflictNoticeOptions<Thing> {
  /** The message of a failure that no field shows. */
  readonly failure: string | undefined;
  /** The label of the button. */
  readonly action?: string;
  readonly onClose: () => void;
}

/** The end of a form: why it could not be saved, and its buttons. */
export function FormEnd<Thing>({ failure, action, onClose, ...conflict }: FormEndOptions<Thing>) {
  const { cancel, save } = texts.value;
  return (
    <>
      {failure && (
        <p class="notice wrong" role="alert">
          {failure}
        </p>
      )}
      <ConflictNotice {...conflict} />
      <div class="row">
        <Button onClick={onClose}>{cancel}</Button>
        <Button type="submit" kind="primary" disabled={conflict.saving.isBusy}>
          {action ?? save}
        </Button>
      </div>
    </>
  );
}
