/** A call on one of the authorizations that a test has made, or a step of its clock. Times in seconds from now. */
export type Step =
  | { do: 'wait'; seconds: number }
  | { do: 'issue'; driver: number; from: number; length: number }
  | { do: 'update'; which: number; from: number; length: number }
  | { do: 'suspend'; which: number; until: number }
  | { do: 'resume'; which: number }
  | { do: 'delete'; which: number }
  | { do: 'read'; which: number }
  | { do: 'deleteDriver'; driver: number };

/** An authorization in its simplest form; times in seconds of the test's clock. */
interface ModelAuthorization {
  driver: number;
  from: number;
  until: number;
  suspendedUntil: number;
  gone: boolean;
}

/** The life cycle of authorizations as the interface describes it; the n-th is the n-th that was ever made. */
export class LifeCycleModel {
  nowSeconds: number;
  readonly #all: ModelAuthorization[] = [];

  constructor(nowSeconds: number) {
    this.nowSeconds = nowSeconds;
  }

  get made(): number {
    return this.#all.length;
  }

  /** Does a step. @returns the failure it should have, or undefined */
  apply(step: Step): string | undefined {
    switch (step.do) {
      case 'wait':
        this.nowSeconds += step.seconds;
        return undefined;
      case 'issue':
        return this.#issue(step);
      case 'deleteDriver':
        for (const one of this.#all) if (one.driver === step.driver) one.gone = true;
        return undefined;
      default: {
        const one = this.#all[step.which];
        return one === undefined || one.gone ? 'UNKNOWN_AUTHORIZATION' : this.#change(one, step);
      }
    }
  }

  /** The numbers of those in each list. */
  lists(): Record<'scheduled' | 'current' | 'expired', number[]> {
    const lists = { scheduled: [], current: [], expired: [] } as ReturnType<LifeCycleModel['lists']>;
    for (const [number, one] of this.#all.entries()) if (!one.gone) lists[this.#category(one)].push(number);
    return lists;
  }

  /** Those that a box must not let in although their time is not over, with what it was told. */
  listed(): Record<number, 'revoked' | 'suspended'> {
    const entries = [...this.#all.entries()].filter(([, { until }]) => until > this.nowSeconds);
    return Object.fromEntries(
      entries
        .filter(([, { gone, suspendedUntil }]) => gone || suspendedUntil > this.nowSeconds)
        .map(([number, { gone }]) => [number, gone ? 'revoked' : 'suspended'] as const),
    );
  }

  #category({ from, until }: ModelAuthorization): 'scheduled' | 'current' | 'expired' {
    if (this.nowSeconds < from) return 'scheduled';
    return this.nowSeconds < until ? 'current' : 'expired';
  }

  #periodFailure(from: number, until: number): string | undefined {
    if (until <= from) return 'INVALID_INTERVAL';
    return until <= this.nowSeconds ? 'INVALID_DATE' : undefined;
  }

  #issue({ driver, from, length }: Step & { do: 'issue' }): string | undefined {
    const [start, until] = [this.nowSeconds + from, this.nowSeconds + from + length];
    const failure = this.#periodFailure(start, until);
    if (!failure) this.#all.push({ driver, from: start, until, suspendedUntil: 0, gone: false });
    return failure;
  }

  #change(one: ModelAuthorization, step: Exclude<Step, { do: 'wait' | 'issue' | 'deleteDriver' }>): string | undefined {
    if (step.do === 'read') return undefined;
    if (step.do === 'delete') {
      one.gone = true;
      return undefined;
    }
    if (step.do === 'update') {
      const [from, until] = [this.nowSeconds + step.from, this.nowSeconds + step.from + step.length];
      const failure = this.#periodFailure(from, until);
      if (failure) return failure;
      one.gone = true;
      this.#all.push({ ...one, from, until, gone: false });
      return undefined;
    }
    const category = this.#category(one);
    if (category === 'expired') return 'AUTHORIZATION_EXPIRED';
    if (category === 'scheduled') return 'AUTHORIZATION_NOT_ACTIVE';
    return step.do === 'suspend' ? this.#suspend(one, this.nowSeconds + step.until) : this.#resume(one);
  }

  #suspend(one: ModelAuthorization, until: number): string | undefined {
    if (until <= this.nowSeconds || until > one.until) return 'INVALID_DATE';
    one.suspendedUntil = until;
    return undefined;
  }

  #resume(one: ModelAuthorization): string | undefined {
    if (one.suspendedUntil <= this.nowSeconds) return 'NOT_SUSPENDED';
    one.suspendedUntil = 0;
    return undefined;
  }
}
