import type { ButtonHTMLAttributes } from 'preact';

interface ButtonOptions extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'class'> {
  /** Classes of its look, such as `primary` or `danger`. */
  readonly kind?: string;
}

/** A button that submits nothing, unless its type says so. */
export function Button({ kind, ...attributes }: ButtonOptions) {
  return <button type="button" class={kind === undefined ? 'button' : `button ${kind}`} {...attributes} />;
}
