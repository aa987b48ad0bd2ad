/** The shapes of an answer that two families of the interface share. */
export type View = 'dynamic' | 'fleet' | 'combined';

/** What an application may have chosen once and for all. */
export type ConfiguredView = Exclude<View, 'combined'> | undefined;

/**
 * Which shape is answered: the one that the request names, else fleet for a search, else the application's own, else both
 * at once, which works because the two share no key but error and state.
 */
export function chooseView(
  requested: ConfiguredView,
  searchType: string | undefined,
  configured: ConfiguredView,
): View {
  if (requested !== undefined) return requested;
  if (searchType !== undefined) return 'fleet';
  return configured ?? 'combined';
}
